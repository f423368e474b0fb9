#include "engine/slice_loop.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "fleet/prefix_chain.h"
#include "kernels/attention.h"

namespace paternoster::engine {
namespace {

constexpr std::size_t kMostChain = 256;  // blocks of a prompt that are compared

}  // namespace

SliceLoop::SliceLoop(std::vector<SliceEngine*> engines, const text::Tokenizer& tokenizer, fleet::Fleet&& fleet,
                     measure::ServingMetrics* metrics, std::int32_t most_waiting)
    : engines_(std::move(engines)),
      fleet_(std::move(fleet)),
      book_(tokenizer, metrics),
      metrics_(metrics),
      most_waiting_(most_waiting),
      one_by_one_(fleet_.config().choices.batching != fleet::Batching::kSolo),
      lanes_(engines_.size()),
      board_(engines_.size(), FrameBoard::Count::kTogether) {
  thread_ = std::thread([this] { run(); });
}

SliceLoop::~SliceLoop() {
  inbox_.close();
  thread_.join();
}

void SliceLoop::attach(api::Outlet* outlet) {
  const std::lock_guard lock(outlet_mutex_);
  outlet_ = outlet;
}

fleet::Stats SliceLoop::stats() const {
  const std::lock_guard lock(stats_mutex_);
  return stats_;
}

void SliceLoop::run() {
  std::vector<SliceMessage> messages;
  while (inbox_.take(messages, true, wake_time())) {
    now_ns_ = now_ns();
    for (SliceMessage& message : messages) {
      std::visit([this](auto& one) { handle(one); }, message);
    }
    if (now_ns_ >= next_deadline_ns_) refuse_late();
    dispatch();
    publish();
    deliver();
  }
}

std::optional<std::chrono::steady_clock::time_point> SliceLoop::wake_time() const {
  const std::int64_t wake_ns = std::min(fleet_.last_plan().next_ns, next_deadline_ns_);
  if (wake_ns == INT64_MAX) return std::nullopt;
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(wake_ns));
}

// ---- calls come and are ended from outside

void SliceLoop::handle(PreparedCall& prepared) {
  const std::int32_t ahead = fleet_.stats().queued;
  if (book_.not_begun() >= most_waiting_) {
    if (metrics_ != nullptr) metrics_->rejected(scheduler::Refusal::kQueueFull);
    book_.refuse_unknown(prepared.call, full_queue(metrics_));
    return;
  }
  SliceBook::Call& call = book_.open(std::move(prepared), last_number_);
  if (auto error = submit(call)) {
    leave_all(call);
    book_.refuse(call.prepared.call, std::move(*error), scheduler::FinishReason::kNone, now_ns_);
    return;
  }
  mean_prompt_ += (call.usage.prompt_tokens - mean_prompt_) / 16;
  look_at_deadline(call);
  std::int64_t starts_in_ns = 0;
  if (ahead > 0) starts_in_ns = metrics_ == nullptr ? -1 : metrics_->expected_wait_ns(ahead).value_or(-1);
  book_.accept(call, ahead, starts_in_ns);
}

// Every choice is a rider of its own: they share nothing but the prompt.
std::optional<api::ApiError> SliceLoop::submit(SliceBook::Call& call) {
  const std::vector<TokenId>& prompt = call.prepared.numbers->prompt;
  for (const SliceBook::Choice& choice : call.choices) {
    fleet::Request request;
    request.id = choice.rider;
    request.prompt_tokens = static_cast<std::int32_t>(prompt.size());
    request.max_tokens = call.prepared.max_tokens;
    request.prefix = fleet::prefix_chain(prompt, kernels::kKvBlockPositions, kMostChain,
                                         call.prepared.cache_namespace);
    for (const fleet::Event& event : fleet_.submit(now_ns_, std::move(request))) {
      if (event.kind == fleet::EventKind::kRefused) return error_of(event.refusal, call);
    }
  }
  return std::nullopt;
}

api::ApiError SliceLoop::error_of(fleet::Refusal refusal, const SliceBook::Call& call) const {
  const auto told = [this](scheduler::Refusal word, api::ApiError&& error) {
    if (metrics_ != nullptr) metrics_->rejected(word);
    return std::move(error);
  };
  switch (refusal) {
    case fleet::Refusal::kQueueFull:
      return told(scheduler::Refusal::kQueueFull, full_queue(metrics_));
    case fleet::Refusal::kDraining:
      return told(scheduler::Refusal::kDraining, api::draining());
    case fleet::Refusal::kNeverFits:
    case fleet::Refusal::kInvalid:
    case fleet::Refusal::kNone:
      break;
  }
  return told(scheduler::Refusal::kNeverFits,
              api::context_length_exceeded(call.usage.prompt_tokens, call.prepared.max_tokens,
                                           fleet_.config().memory.kv_tokens));
}

void SliceLoop::handle(RefuseCall& refusal) {
  if (metrics_ != nullptr) metrics_->rejected(refusal.refusal);
  book_.refuse_unknown(refusal.call, std::move(refusal.error));
}

void SliceLoop::handle(CancelCall& cancel) {
  SliceBook::Call* call = book_.find(cancel.call);
  if (call == nullptr) return;
  leave_all(*call);
  book_.forget(cancel.call, scheduler::FinishReason::kCancelled, now_ns_);
}

void SliceLoop::handle(StopCall& stop) {
  SliceBook::Call* call = book_.find(stop.call);
  if (call == nullptr) return;
  call->stopped = true;
  for (const SliceBook::Choice& choice : call->choices) {
    if (choice.over) continue;
    // The engine tells what it held back, and that the choice is over.
    if (choice.sent) engines_[choice.engine]->stop(api::CallId{choice.rider.value});
    leave(choice.rider);
    if (!choice.sent) book_.end_here(book_.find(choice.rider), now_ns_);
  }
  book_.close(*call, now_ns_);
}

// No rider of the call is the fleet's any more, and no engine computes for it.
void SliceLoop::leave_all(SliceBook::Call& call) {
  for (const SliceBook::Choice& choice : call.choices) {
    if (choice.sent) engines_[choice.engine]->cancel(api::CallId{choice.rider.value});
    leave(choice.rider);
  }
}

void SliceLoop::refuse(SliceBook::Call& call, api::ApiError&& error, scheduler::FinishReason why) {
  leave_all(call);
  book_.refuse(call.prepared.call, std::move(error), why, now_ns_);
}

bool SliceLoop::is_late(const SliceBook::Call& call) const {
  const std::int64_t deadline_ns = call.prepared.deadline_ns();
  return deadline_ns != 0 && now_ns_ >= deadline_ns;
}

// Wakes up for it, if there is one.
void SliceLoop::look_at_deadline(const SliceBook::Call& call) {
  const std::int64_t deadline_ns = call.prepared.deadline_ns();
  if (deadline_ns != 0) next_deadline_ns_ = std::min(next_deadline_ns_, deadline_ns);
}

// Timeouts of those who wait here; engines look after those who run.
void SliceLoop::refuse_late() {
  next_deadline_ns_ = INT64_MAX;
  std::vector<SliceBook::Call*> late;
  for (const auto& [id, call] : book_.all()) {
    if (!is_late(*call)) {
      look_at_deadline(*call);
    } else if (std::ranges::any_of(call->choices, [](const auto& one) { return !one.over && !one.sent; })) {
      late.push_back(call.get());
    }
  }
  for (SliceBook::Call* call : late) {
    refuse(*call, api::deadline_exceeded(place_of(*call)), scheduler::FinishReason::kDeadline);
  }
}

// ---- slices go out

void SliceLoop::dispatch() {
  const fleet::Plan& plan = fleet_.plan(now_ns_);
  // plan.drops need not be told: an engine's prefix cache gives up by itself what it has no room for.
  if (!plan.empty()) queue(plan);
  for (std::size_t engine = 0; engine < engines_.size(); ++engine) start(engine);
}

void SliceLoop::queue(const fleet::Plan& plan) {
  for (const fleet::Batch& batch : plan.batches) {
    Sent& sent = sent_[batch.id];
    sent.engine = batch.instance.value;
    for (const fleet::Member& member : plan.members_of(batch)) {
      sent.seats.push_back({member.request, member.most_tokens});
      batch_of_[member.request] = batch.id;
    }
    sent.open = sent.seats.size();
    lanes_[sent.engine].push_back(batch.id);
  }
}

void SliceLoop::start(std::size_t engine) {
  for (const fleet::BatchId batch : lanes_[engine]) {
    Sent& sent = sent_[batch];
    if (!sent.given) give(sent);
    if (one_by_one_) return;
  }
}

void SliceLoop::give(Sent& sent) {
  sent.given = true;
  for (const Seat& seat : sent.seats) {
    if (seat.gone) continue;
    const SliceBook::Rider rider = book_.find(seat.rider);
    PATERNOSTER_CHECK(rider.call != nullptr);
    rider.choice->engine = sent.engine;
    engines_[sent.engine]->run(book_.slice_of(rider, seat.most_tokens, now_ns_));
  }
}

// ---- slices come back

void SliceLoop::handle(SlicesTold& told) {
  for (api::BackendEvent& event : told.events) {
    std::visit([this](auto& one) { hear(one); }, event);
  }
}

void SliceLoop::hear(api::Delta& delta) {
  const RequestId id{delta.call.value};
  const SliceBook::Rider rider = book_.find(id);
  if (rider.call == nullptr) return;  // it was cancelled
  book_.take(rider, std::move(delta), now_ns_);
  if (batch_of_.contains(id)) fleet_.progress(id, static_cast<std::int32_t>(rider.choice->saying.size()));
}

void SliceLoop::hear(api::Finished& finished) {
  const SliceBook::Rider rider = book_.find(RequestId{finished.call.value});
  if (rider.call != nullptr) book_.take(rider, std::move(finished), now_ns_);
}

void SliceLoop::hear(api::Done& done) {
  const RequestId id{done.call.value};
  const SliceBook::Rider rider = book_.find(id);
  if (rider.call == nullptr) return;
  const std::int32_t produced = book_.end_slice(rider, done);
  settle(id, produced, rider.choice->over);
  // The slice ended by itself just as somebody stopped the call.
  if (rider.call->stopped && !rider.choice->over) book_.end_here(rider, now_ns_);
  look_at_deadline(*rider.call);
  book_.close(*rider.call, now_ns_);
}

void SliceLoop::hear(api::Refused& refused) {
  const SliceBook::Rider rider = book_.find(RequestId{refused.call.value});
  if (rider.call == nullptr) return;
  rider.choice->sent = false;  // nothing is left to be cancelled
  const bool late = is_late(*rider.call);
  if (late) refused.error = api::deadline_exceeded(place_of(*rider.call));
  refuse(*rider.call, std::move(refused.error),
         late ? scheduler::FinishReason::kDeadline : scheduler::FinishReason::kCancelled);
}

void SliceLoop::settle(RequestId rider, std::int32_t produced, bool stopped) {
  const auto found = batch_of_.find(rider);
  if (found == batch_of_.end()) return;  // stopped: the fleet has forgotten it
  const fleet::BatchId batch = found->second;
  batch_of_.erase(found);
  Seat& seat = *std::ranges::find(sent_[batch].seats, rider, &Seat::rider);
  seat.produced = produced;
  seat.stopped = stopped;
  close_seat(batch);
}

void SliceLoop::leave(RequestId rider) {
  fleet_.cancel(now_ns_, rider);
  const auto found = batch_of_.find(rider);
  if (found == batch_of_.end()) return;
  const fleet::BatchId batch = found->second;
  batch_of_.erase(found);
  std::ranges::find(sent_[batch].seats, rider, &Seat::rider)->gone = true;
  close_seat(batch);
}

void SliceLoop::close_seat(fleet::BatchId batch) {
  Sent& sent = sent_[batch];
  if (--sent.open > 0) return;
  fleet::SliceResult result;
  result.batch = batch;
  for (const Seat& seat : sent.seats) {
    if (seat.gone) continue;
    result.iterations = std::max(result.iterations, seat.produced);
    result.members.push_back({seat.rider, seat.produced, seat.stopped});
  }
  if (!result.members.empty()) fleet_.commit(now_ns_, result);
  std::erase(lanes_[sent.engine], batch);
  learn_cost(sent.engine);
  sent_.erase(batch);
}

void SliceLoop::learn_cost(std::size_t engine) {
  const auto cost = engines_[engine]->learnt_cost();
  if (!cost) return;
  if (const auto set = fleet_.set_time(fleet::time_model_of(*cost, mean_prompt_)); !set) {
    spdlog::error("{}", set.error().message);
  }
}

// ---- what others see

void SliceLoop::publish() {
  const fleet::Stats stats = fleet_.stats();
  std::int32_t queued = stats.pool;
  for (const auto& [id, sent] : sent_) {
    if (!sent.given) queued += static_cast<std::int32_t>(sent.open);
  }
  if (metrics_ != nullptr && queued != waiting()) metrics_->pool(queued);
  waiting_.store(queued, std::memory_order_relaxed);
  const std::lock_guard lock(stats_mutex_);
  stats_ = stats;
}

void SliceLoop::deliver() {
  std::vector<api::BackendEvent> events = book_.take_outbox();
  if (events.empty() && !frame_wanted_) return;
  const std::lock_guard lock(outlet_mutex_);
  if (outlet_ == nullptr) return;
  if (!events.empty()) outlet_->deliver(std::move(events));
  if (!watching_.load(std::memory_order_relaxed) || !frame_wanted_) return;
  auto frame = board_.again(now_ns_);
  if (!frame) return;
  frame_wanted_ = false;
  add_waiting(*frame);
  outlet_->show(std::move(*frame));
}

}  // namespace paternoster::engine
