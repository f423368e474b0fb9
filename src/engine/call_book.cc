#include "engine/call_book.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace paternoster::engine {

using scheduler::Event;
using scheduler::EventKind;

void CallBook::open(PreparedCall&& prepared) {
  auto call = std::make_unique<Call>();
  call->usage.prompt_tokens = static_cast<std::int32_t>(prepared.numbers->prompt.size());
  for (std::int32_t choice = 0; choice < prepared.choices; ++choice) {
    Choice& made = call->choices.emplace_back(TextStream(tokenizer_, prepared.text));
    made.output = prepared.said();
    std::string told;  // in earlier slices
    for (const TokenId token : prepared.numbers->said) made.text.push(token, told);
  }
  const RequestId id{prepared.call.value};
  call->prepared = std::move(prepared);
  calls_.insert_or_assign(id, std::move(call));
}

const CallBook::Call* CallBook::find(RequestId request) const {
  const auto found = calls_.find(request);
  return found == calls_.end() ? nullptr : found->second.get();
}

const CallBook::Rider* CallBook::find(SequenceId sequence) const {
  const auto found = riders_.find(sequence);
  return found == riders_.end() ? nullptr : &found->second;
}

CallBook::Call& CallBook::call_of(RequestId request) {
  const auto found = calls_.find(request);
  PATERNOSTER_CHECK(found != calls_.end());
  return *found->second;
}

void CallBook::expect(RequestId request, std::int32_t ahead, std::int64_t starts_in_ns) {
  Call& call = call_of(request);
  call.timings.ahead = ahead;
  call.starts_in_ns = starts_in_ns;
}

void CallBook::refuse(api::CallId call, api::ApiError&& error) {
  outbox_.push_back(api::Refused{call, std::move(error)});
  forget(RequestId{call.value});
}

void CallBook::forget(RequestId request) {
  const auto found = calls_.find(request);
  if (found == calls_.end()) return;
  const Call& call = *found->second;
  for (std::size_t choice = 0; choice < call.choices.size(); ++choice) {
    const SequenceId sequence{call.first_sequence.value + choice};
    if (riders_.erase(sequence) > 0) executor_.remove(sequence);
  }
  calls_.erase(found);
}

api::TokenLogprobs CallBook::logprobs_of(const Drawn& drawn) const {
  const auto scored = [this](const Logprob& one) {
    return api::ScoredToken{one.token, std::string(tokenizer_.token_bytes(one.token)), one.logprob};
  };
  api::TokenLogprobs logprobs{scored(drawn.chosen), {}};
  for (const Logprob& one : drawn.top) logprobs.top.push_back(scored(one));
  return logprobs;
}

void CallBook::read_step(scheduler::StepResult& result, std::span<const Drawn> drawn) {
  for (std::size_t i = 0; i < result.outcomes.size(); ++i) {
    scheduler::Outcome& outcome = result.outcomes[i];
    const Rider* rider = find(outcome.sequence);
    PATERNOSTER_CHECK(rider != nullptr);
    const PreparedCall& prepared = rider->call->prepared;
    Choice& choice = rider->call->choices[static_cast<std::size_t>(rider->choice)];
    if (choice.said_all) continue;  // the scheduler runs it on with its batch
    const bool ended = i > 0 && result.outcomes[i - 1].stop && result.outcomes[i - 1].sequence == outcome.sequence;
    if (ended) {  // guessed right, but behind a stop string
      outcome.stop = true;
      continue;
    }
    choice.delta.token_ids.push_back(outcome.token);
    if (prepared.numbers->params.logprobs) choice.delta.logprobs.push_back(logprobs_of(drawn[i]));
    ++choice.output;
    if (outcome.stop) {
      const auto& wanted = prepared.stop_token_ids;
      // An end token writes no text. Only a client's own is named.
      if (std::find(wanted.begin(), wanted.end(), outcome.token) != wanted.end()) {
        choice.stop_reason = outcome.token;
      }
    } else if (choice.text.push(outcome.token, choice.delta.text)) {
      outcome.stop = true;
      choice.stop_reason = *choice.text.stop();
    }
  }
}

void CallBook::take(std::span<const Event> events) {
  for (const Event& event : events) {
    if (event.kind == EventKind::kRefused) continue;
    Call& call = call_of(event.request);
    switch (event.kind) {
      case EventKind::kAccepted:
        accept(call, event);
        break;
      case EventKind::kAdmitted:
        admit(call, event);
        break;
      case EventKind::kToken:
        if (call.first_token_ns == 0) {
          call.first_token_ns = event.at_ns;
          call.timings.prefill_ns = event.at_ns - call.boarded_ns;
        }
        call.timings.decode_ns = event.at_ns - call.first_token_ns;
        ++call.usage.completion_tokens;
        call.choices[static_cast<std::size_t>(event.choice)].said_all = event.last;
        echo(call, event.choice);
        send_delta(call.choices[static_cast<std::size_t>(event.choice)], call.prepared.call, event.choice);
        break;
      case EventKind::kFinished:
        finish(call, event);
        break;
      case EventKind::kRequestFinished:
        end(call, event);
        break;
      case EventKind::kPreempted:
        // The end of a slice takes nothing away.
        if (event.cause != scheduler::PreemptCause::kSlice) ++call.timings.preemptions;
        break;
      case EventKind::kRefused:
        break;
    }
  }
}

void CallBook::accept(Call& call, const Event& event) {
  call.first_sequence = event.sequence;
  call.accepted = true;
  for (std::int32_t choice = 0; choice < event.count; ++choice) {
    const SequenceId sequence{event.sequence.value + static_cast<std::uint64_t>(choice)};
    riders_.insert_or_assign(sequence, Rider{&call, choice});
    executor_.add(sequence, call.prepared.choice + choice, call.prepared.numbers);
  }
  outbox_.push_back(api::Accepted{call.prepared.call, call.usage.prompt_tokens, call.prepared.numbers->prompt,
                                  call.timings.ahead, call.starts_in_ns});
}

void CallBook::admit(Call& call, const Event& event) {
  if (call.boarded_ns == 0) {
    call.boarded_ns = event.at_ns;
    call.timings.queue_ns = event.at_ns - call.prepared.arrived_ns;
  }
  if (event.choice == 0 && !event.resumed && !event.forked) call.usage.cached_tokens = event.count;
}

void CallBook::echo(Call& call, std::int32_t choice) {
  Choice& to = call.choices[static_cast<std::size_t>(choice)];
  if (!call.prepared.echo || to.echoed) return;
  to.echoed = true;
  const RequestNumbers& numbers = *call.prepared.numbers;
  api::Delta delta{call.prepared.call, choice, true, *call.prepared.echo, numbers.prompt, {}};
  if (numbers.score_prompt) {
    const TokenId first = numbers.prompt.front();
    delta.logprobs.push_back({{first, std::string(tokenizer_.token_bytes(first)), std::nullopt}, {}});
    for (const Drawn& score : numbers.prompt_scores) delta.logprobs.push_back(logprobs_of(score));
  }
  outbox_.push_back(std::move(delta));
}

void CallBook::send_delta(Choice& choice, api::CallId call, std::int32_t number) {
  if (choice.delta.token_ids.empty() && choice.delta.text.empty()) return;
  choice.delta.call = call;
  choice.delta.choice = number;
  outbox_.push_back(std::exchange(choice.delta, {}));
}

void CallBook::finish(Call& call, const Event& event) {
  riders_.erase(event.sequence);
  executor_.remove(event.sequence);
  call.timings.recomputed_tokens += event.recomputed_tokens;
  call.timings.swapped_bytes += static_cast<std::int64_t>(executor_.bytes_a_block()) * event.swapped_blocks;
  if (event.finish == scheduler::FinishReason::kDeadline) {
    call.late = true;
    return;
  }
  const bool cancelled = event.finish == scheduler::FinishReason::kCancelled;
  if (cancelled && !call.stopped) return;
  Choice& choice = call.choices[static_cast<std::size_t>(event.choice)];
  // What a slice holds back is told by the next one, which hears the same tokens again.
  const bool cut = event.finish == scheduler::FinishReason::kLength && call.prepared.slice_tokens > 0 &&
                   choice.output < call.prepared.max_tokens;
  if (!cut) choice.text.finish(choice.delta.text);
  send_delta(choice, call.prepared.call, event.choice);
  choice.over = true;
  const bool stopped = event.finish == scheduler::FinishReason::kStop;
  const auto reason = cancelled ? api::FinishReason::kAbort
                      : stopped ? api::FinishReason::kStop
                                : api::FinishReason::kLength;
  outbox_.push_back(api::Finished{call.prepared.call, event.choice, reason,
                                  stopped ? choice.stop_reason : api::StopReason{}});
}

void CallBook::end(Call& call, const Event& event) {
  if (call.late) {
    refuse(call.prepared.call, api::deadline_exceeded(place_of(call)));
    return;
  }
  const bool completed =
      std::all_of(call.choices.begin(), call.choices.end(), [](const Choice& c) { return c.over; });
  if (completed) outbox_.push_back(api::Done{call.prepared.call, call.usage, call.timings});
  calls_.erase(event.request);
}

}  // namespace paternoster::engine
