#include "engine/slice_book.h"

#include <string>

#include "base/check.h"

namespace paternoster::engine {

using scheduler::EventKind;

SliceBook::Call& SliceBook::open(PreparedCall&& prepared, std::atomic<std::uint64_t>& last_number) {
  auto call = std::make_unique<Call>();
  call->usage.prompt_tokens = static_cast<std::int32_t>(prepared.numbers->prompt.size());
  call->open = prepared.choices;
  for (std::int32_t number = 0; number < prepared.choices; ++number) {
    // Of its own: engines work on choices side by side, and each says something else.
    Choice& choice = call->choices.emplace_back();
    choice.rider = RequestId{++last_number};
    choice.numbers = std::make_shared<RequestNumbers>(*prepared.numbers);
    riders_[choice.rider] = {call.get(), number};
  }
  call->prepared = std::move(prepared);
  ++not_begun_;
  return *(calls_[call->prepared.call] = std::move(call));
}

SliceBook::Call* SliceBook::find(api::CallId call) {
  const auto found = calls_.find(call);
  return found == calls_.end() ? nullptr : found->second.get();
}

SliceBook::Rider SliceBook::find(RequestId rider) {
  const auto found = riders_.find(rider);
  if (found == riders_.end()) return {nullptr, nullptr, 0};
  const auto [call, number] = found->second;
  return {call, &call->choices[static_cast<std::size_t>(number)], number};
}

void SliceBook::tell(EventKind kind, const Call& call, std::int32_t choice, std::int64_t at_ns,
                     scheduler::FinishReason finish) {
  if (metrics_ == nullptr) return;
  scheduler::Event event;
  event.at_ns = at_ns;
  event.request = RequestId{call.prepared.call.value};
  event.kind = kind;
  event.choice = choice;
  event.finish = finish;
  metrics_->take(std::span(&event, 1));
}

void SliceBook::accept(Call& call, std::int32_t ahead, std::int64_t starts_in_ns) {
  call.timings.ahead = ahead;
  if (metrics_ != nullptr) {
    scheduler::Request request;
    request.id = RequestId{call.prepared.call.value};
    request.prompt = call.prepared.numbers->prompt;
    request.choices = call.prepared.choices;
    request.priority = call.prepared.standing.priority;
    metrics_->arrived(request, call.prepared.arrived_ns, call.prepared.standing.tenant,
                      call.prepared.standing.weight);
  }
  outbox_.push_back(api::Accepted{call.prepared.call, call.usage.prompt_tokens, call.prepared.numbers->prompt,
                                  ahead, starts_in_ns});
}

PreparedCall SliceBook::slice_of(const Rider& rider, std::int32_t most_tokens, std::int64_t now_ns) {
  Call& call = *rider.call;
  Choice& choice = *rider.choice;
  if (call.boarded_ns == 0) {
    call.boarded_ns = now_ns;
    call.timings.queue_ns = now_ns - call.prepared.arrived_ns;
    tell(EventKind::kAdmitted, call, rider.number, now_ns);
  }
  const bool first = choice.numbers->said.empty();
  PreparedCall slice;
  slice.call = api::CallId{choice.rider.value};
  slice.request_id = call.prepared.request_id;
  slice.numbers = choice.numbers;
  slice.max_tokens = call.prepared.max_tokens;
  slice.text = call.prepared.text;
  slice.stop_token_ids = call.prepared.stop_token_ids;
  if (first) slice.echo = call.prepared.echo;
  slice.cache_namespace = call.prepared.cache_namespace;
  slice.standing = call.prepared.standing;
  slice.arrived_ns = call.prepared.arrived_ns;
  slice.slice_tokens = most_tokens;
  slice.choice = rider.number;
  choice.sent = true;
  return slice;
}

void SliceBook::take(const Rider& rider, api::Delta&& delta, std::int64_t now_ns) {
  Call& call = *rider.call;
  if (!delta.prompt) {
    auto& saying = rider.choice->saying;
    saying.insert(saying.end(), delta.token_ids.begin(), delta.token_ids.end());
    for (std::size_t token = 0; token < delta.token_ids.size(); ++token) {
      if (call.first_token_ns == 0) {
        call.first_token_ns = now_ns;
        call.timings.prefill_ns = now_ns - call.boarded_ns;
        --not_begun_;
      }
      call.last_token_ns = now_ns;
      ++call.usage.completion_tokens;
      tell(EventKind::kToken, call, rider.number, now_ns);
    }
  }
  delta.call = call.prepared.call;
  delta.choice = rider.number;
  outbox_.push_back(std::move(delta));
}

bool SliceBook::take(const Rider& rider, api::Finished&& finished, std::int64_t now_ns) {
  const bool cut = finished.reason == api::FinishReason::kLength &&
                   rider.choice->output() < rider.call->prepared.max_tokens;
  if (cut) return false;
  finish_choice(rider, finished.reason, std::move(finished.stop_reason), now_ns);
  return true;
}

void SliceBook::finish_choice(const Rider& rider, api::FinishReason reason, api::StopReason&& why,
                              std::int64_t now_ns) {
  rider.choice->over = true;
  --rider.call->open;
  const auto finish = reason == api::FinishReason::kStop     ? scheduler::FinishReason::kStop
                      : reason == api::FinishReason::kLength ? scheduler::FinishReason::kLength
                                                             : scheduler::FinishReason::kCancelled;
  tell(EventKind::kFinished, *rider.call, rider.number, now_ns, finish);
  outbox_.push_back(api::Finished{rider.call->prepared.call, rider.number, reason, std::move(why)});
}

std::int32_t SliceBook::end_slice(const Rider& rider, const api::Done& done) {
  Choice& choice = *rider.choice;
  RequestNumbers& numbers = *choice.numbers;
  if (rider.number == 0 && numbers.said.empty()) rider.call->usage.cached_tokens = done.usage.cached_tokens;
  const auto produced = static_cast<std::int32_t>(choice.saying.size());
  numbers.said.insert(numbers.said.end(), choice.saying.begin(), choice.saying.end());
  numbers.score_prompt = false;  // that has been told
  choice.saying.clear();
  choice.sent = false;
  return produced;
}

void SliceBook::end_here(const Rider& rider, std::int64_t now_ns) {
  PATERNOSTER_CHECK(!rider.choice->sent);
  TextStream text(tokenizer_, rider.call->prepared.text);
  std::string told;
  for (const TokenId token : rider.choice->numbers->said) text.push(token, told);
  std::string held;
  text.finish(held);
  if (!held.empty()) {
    outbox_.push_back(api::Delta{rider.call->prepared.call, rider.number, false, std::move(held), {}, {}});
  }
  finish_choice(rider, api::FinishReason::kAbort, {}, now_ns);
}

bool SliceBook::close(Call& call, std::int64_t now_ns) {
  if (call.open > 0) return false;
  if (call.first_token_ns != 0) call.timings.decode_ns = call.last_token_ns - call.first_token_ns;
  tell(EventKind::kRequestFinished, call, 0, now_ns);
  outbox_.push_back(api::Done{call.prepared.call, call.usage, call.timings});
  erase(call);
  return true;
}

void SliceBook::refuse_unknown(api::CallId call, api::ApiError&& error) {
  outbox_.push_back(api::Refused{call, std::move(error)});
}

void SliceBook::refuse(api::CallId call, api::ApiError&& error, scheduler::FinishReason why, std::int64_t now_ns) {
  refuse_unknown(call, std::move(error));
  forget(call, why, now_ns);
}

void SliceBook::forget(api::CallId call, scheduler::FinishReason why, std::int64_t now_ns) {
  Call* known = find(call);
  if (known == nullptr) return;
  tell(EventKind::kFinished, *known, 0, now_ns, why);
  tell(EventKind::kRequestFinished, *known, 0, now_ns);
  erase(*known);
}

void SliceBook::erase(Call& call) {
  if (call.first_token_ns == 0) --not_begun_;
  for (const Choice& choice : call.choices) riders_.erase(choice.rider);
  calls_.erase(call.prepared.call);
}

}  // namespace paternoster::engine
