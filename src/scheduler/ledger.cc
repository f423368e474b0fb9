// The invariants over time (13 to 20).
#include <algorithm>
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
  // 17: progress: a plan is empty only if nobody is there, or says when to plan again.
  if (plan.empty() && plan.again_ns == 0 && !scheduler.idle()) broken(17, "someone is there, someone runs", plan.step);
  check_preempted(state);
  for (const Admission& admission : plan.admitted) {
    check_admitted(state, *state.sequence_slots.find(admission.sequence.value));
  }
}

// 20: a seat is taken at most protect_after times from one sequence, but by strictly higher classes
// under `priority`; and never for blocks under reserve. 21: only who is outranked by somebody that
// boards loses its seat to a class.
void Ledger::check_preempted(const State& state) {
  const Config& config = state.config;
  for (const Preemption& one : state.plan.preempted) {
    const bool by_class = one.cause == PreemptCause::kClass;
    if (!by_class || config.choices.order == Order::kMultilevel) {
      if (++riders_[one.sequence.value].preemptions > config.limits.protect_after) {
        broken(20, "preemptions are bounded", one.sequence.value);
      }
    }
    if (!by_class && config.choices.relief == Relief::kReserve) {
      broken(20, "who reserved is never short", one.sequence.value);
    }
    if (by_class && !is_outranked(state, one.sequence)) {
      broken(21, "only a higher class takes a seat", one.sequence.value);
    }
  }
}

// By somebody who runs after this plan, or (what came free was not enough) stands first in the queue.
bool Ledger::is_outranked(const State& state, SequenceId id) const {
  if (!order::has_classes(state.config)) return false;
  const Sequence& victim = state.sequences[*state.sequence_slots.find(id.value)];
  const auto outranks = [&](Slot slot) {
    const Sequence& other = state.sequences[slot];
    return order::outranks(state.config, state.groups[other.group], other,
                           state.groups[victim.group], victim);
  };
  return std::ranges::any_of(state.running, outranks) || outranks(state.queue.top());
}

// 18: when blocks are short nobody boards. 19: nobody boards past somebody
// who stands before in the queue.
void Ledger::check_admitted(const State& state, Slot slot) {
  const Sequence& sequence = state.sequences[slot];
  const bool blocks_were_short = std::ranges::any_of(
      state.plan.preempted, [](const auto& one) { return one.cause == PreemptCause::kBlocks; });
  if (blocks_were_short) {
    broken(18, "nobody boards when blocks are short", sequence.id.value);
  }
  if (state.queue.empty()) return;
  if (state.queue.by_tenant()) {
    const Slot first = state.queue.fair().first_of(sequence.lane);
    if (first != kNoSlot && state.sequences[first].turn < sequence.turn) {
      broken(19, "a tenant's queue boards in order", sequence.id.value);
    }
    return;
  }
  const Sequence& next = state.sequences[state.queue.top()];
  if (next.preempted_in == state.plan.step) return;  // lost its seat in this very step
  if (next.rank < sequence.rank) broken(19, "the queue boards in order", sequence.id.value);
}

std::optional<Violation> Ledger::check(const Scheduler& scheduler) const {
  if (violation_) return violation_;
  // What a plan ended is told with the next verb.
  if (!scheduler.state().delivered && !scheduler.state().events.empty()) return std::nullopt;
  if (scheduler.stats().live_requests != live_) {
    return Violation{13, "accepted = finished + live (" + std::to_string(live_) + ")"};
  }
  return std::nullopt;
}

}  // namespace paternoster::scheduler
