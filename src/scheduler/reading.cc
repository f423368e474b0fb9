// The reading half of Scheduler: nothing here changes anything.
#include <algorithm>

#include "scheduler/scheduler.h"
#include "scheduler/state.h"

namespace paternoster::scheduler {

const Config& Scheduler::config() const { return state_->config; }
bool Scheduler::live(RequestId request) const {
  return state_->group_slots.find(request.value) != nullptr;
}
bool Scheduler::idle() const { return state_->group_slots.size() == 0; }
bool Scheduler::draining() const { return state_->draining; }
bool Scheduler::in_flight() const { return state_->in_flight; }
const Plan& Scheduler::last_plan() const { return state_->plan; }

Stats Scheduler::stats() const {
  const State& state = *state_;
  Stats stats = state.totals;
  stats.running = static_cast<std::int32_t>(state.running.size());
  stats.parked = state.parked;
  stats.waiting = static_cast<std::int32_t>(state.queue.size()) + state.parked;
  stats.queued_requests = state.queued_requests;
  stats.live_requests = static_cast<std::int32_t>(state.group_slots.size());
  stats.blocks_total = state.pool.total();
  stats.blocks_used = state.pool.used();
  stats.blocks_cached = state.pool.cached();
  stats.blocks_free = state.pool.free();
  stats.blocks_reserved = state.reserved;
  stats.swap_blocks_total = state.host.total();
  stats.swap_blocks_used = state.host.used();
  return stats;
}

void Scheduler::list_running(std::vector<SequenceId>& out) const {
  out.clear();
  for (const Slot slot : state_->running) out.push_back(state_->sequences[slot].id);
}

void Scheduler::list_waiting(std::vector<Waiting>& out) const {
  const State& state = *state_;
  out.clear();
  for (const Sequence& sequence : state.sequences) {
    if (sequence.state == SequenceState::kFree) continue;
    WaitReason reason = state.plan.queue_reason;
    if (sequence.state == SequenceState::kParked) {
      reason = WaitReason::kSiblingPrefill;
    } else if (sequence.state == SequenceState::kRunning) {
      if (!state.in_flight || sequence.scheduled > 0) continue;
      reason = WaitReason::kTokenBudget;
    } else if (state.plan.step > 0 && sequence.preempted_in == state.plan.step) {
      reason = WaitReason::kPreempted;
    } else if (sequence.id == state.head) {
      reason = state.head_reason;
    }
    out.push_back({sequence.id, state.groups[sequence.group].id, reason});
  }
}

std::int32_t Scheduler::worst_blocks(const Limits& limits, std::int64_t prompt,
                                     std::int64_t max_tokens) {
  // The last token sampled is never computed, so it needs no place.
  const std::int64_t tokens =
      prompt +
      std::clamp<std::int64_t>(max_tokens, 1, std::max<std::int64_t>(1, limits.max_len - prompt)) -
      1;
  return static_cast<std::int32_t>((tokens + limits.block_size - 1) / limits.block_size);
}

}  // namespace paternoster::scheduler
