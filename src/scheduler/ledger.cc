// The invariants over time (13 to 20).
#include <string>

#include "scheduler/check.h"
#include "scheduler/order/order.h"
#include "scheduler/state.h"

namespace paternoster::scheduler {

void Ledger::broken(int number, const char* what, std::uint64_t id) {
  if (!violation_)
    violation_ = Violation{number, std::string(what) + " (" + std::to_string(id) + ")"};
}

void Ledger::submitted(RequestId request) { calls_[request.value] = Call{}; }

// 13: every request is answered once and ends once; 14: every sequence ends once, and nothing is
// said of it afterwards; 15: output tokens are counted from 0 without gaps; 16: seats are taken and
// lost in turn.
void Ledger::tell(const Event& event) {
  Call& call = calls_[event.request.value];
  if (event.kind == EventKind::kAccepted || event.kind == EventKind::kRefused) {
    if (call.answered) broken(13, "a request is answered once", event.request.value);
    call.answered = true;
    call.ended = event.kind == EventKind::kRefused;
    if (call.ended) return;
    ++live_;
    call.first = event.sequence;
    call.choices = event.count;
    for (std::int32_t choice = 0; choice < event.count; ++choice) {
      riders_[event.sequence.value + static_cast<std::uint64_t>(choice)].request = event.request;
    }
    return;
  }
  if (!call.answered || call.ended)
    broken(13, "a request lives until its end", event.request.value);
  if (event.kind == EventKind::kRequestFinished) {
    if (call.over != call.choices) broken(13, "a request ends with its last", event.request.value);
    call.ended = true;
    --live_;
    return;
  }
  const auto found = riders_.find(event.sequence.value);
  if (found == riders_.end() || found->second.over || found->second.request != event.request ||
      event.sequence.value != call.first.value + static_cast<std::uint64_t>(event.choice)) {
    broken(14, "events are of live sequences", event.sequence.value);
    return;
  }
  Rider& rider = found->second;
  switch (event.kind) {
    case EventKind::kAdmitted:
      if (rider.aboard || event.resumed != rider.ever_aboard)
        broken(16, "boards once", event.sequence.value);
      rider.aboard = rider.ever_aboard = true;
      break;
    case EventKind::kPreempted:
      if (!rider.aboard) broken(16, "only riders lose a seat", event.sequence.value);
      rider.aboard = false;
      break;
    case EventKind::kToken:
      if (!rider.aboard) broken(16, "only riders get tokens", event.sequence.value);
      if (event.count != rider.tokens++) broken(15, "tokens are counted", event.sequence.value);
      break;
    default:
      if (event.count != rider.tokens)
        broken(15, "the end counts the tokens", event.sequence.value);
      rider.over = true;
      ++call.over;
  }
}

void Ledger::told(std::span<const Event> events) {
  for (const Event& event : events) tell(event);
}

void Ledger::planned(const Scheduler& scheduler) {
  const State& state = scheduler.state();
  const Plan& plan = state.plan;
  // 17: progress: a plan is empty only if nobody is there.
  if (plan.empty() && !scheduler.idle()) broken(17, "someone is there, someone runs", plan.step);
  // 18: nobody boards in a step that had to preempt.
  if (!plan.preempted.empty() && !plan.admitted.empty()) {
    broken(18, "nobody boards when blocks are short", plan.step);
  }
  // 19: nobody boards past somebody who stands before in the queue.
  for (const Admission& admission : plan.admitted) {
    const Slot slot = *state.sequence_slots.find(admission.sequence.value);
    const auto rank = order::rank_of(state.config.choices.order, state.sequences[slot]);
    if (!state.queue.empty() && state.queue.top_rank() < rank) {
      broken(19, "the queue boards in order", admission.sequence.value);
    }
  }
  // 20: need takes a seat at most protect_after times from one sequence, and never under reserve.
  for (const SequenceId sequence : plan.preempted) {
    if (++riders_[sequence.value].preemptions > state.config.limits.protect_after ||
        state.config.choices.relief == Relief::kReserve) {
      broken(20, "preemptions by need are bounded", sequence.value);
    }
  }
}

std::optional<Violation> Ledger::check(const Scheduler& scheduler) const {
  if (violation_) return violation_;
  if (scheduler.stats().live_requests != live_) {
    return Violation{13, "accepted = finished + live (" + std::to_string(live_) + ")"};
  }
  return std::nullopt;
}

}  // namespace paternoster::scheduler
