// Prefill latency_target: how much of a step prompts may take, and when one stream more is too much.
#include <algorithm>
#include <limits>

#include "scheduler/life.h"
#include "scheduler/planner.h"

namespace paternoster::scheduler {
namespace {

// It has told tokens, so its client sees gaps.
bool is_stream(const Sequence& sequence) {
  return sequence.state == SequenceState::kRunning && !sequence.output.empty();
}

}  // namespace

// The time that all entries of this step may take together: the tightest target among the streams
// aboard, less what every step takes. No stream: no limit.
std::int64_t Planner::target_ps() const {
  std::int64_t target_ns = std::numeric_limits<std::int64_t>::max();
  for (const Slot slot : state_.running) {
    const Sequence& sequence = state_.sequences[slot];
    if (!is_stream(sequence)) continue;
    const std::int64_t own_ns = state_.groups[sequence.group].itl_target_ns;
    target_ns = std::min(target_ns, own_ns != 0 ? own_ns : state_.config.tuning.itl_target_ns);
  }
  if (target_ns == std::numeric_limits<std::int64_t>::max()) return target_ns;
  return saturating_multiply(saturating_subtract(target_ns, state_.config.cost.step_ns),
                             kPicosecondsANanosecond);
}

// After boarding: every prompt aboard gets its share of what the decodes leave.
void Planner::divide_step() {
  list_prompts();
  if (state_.prompts.empty()) return;
  const CostModel& cost = state_.config.cost;
  std::int64_t left_ps = target_ps();
  if (left_ps != std::numeric_limits<std::int64_t>::max()) {
    for (const Slot slot : state_.running) {
      const Sequence& sequence = state_.sequences[slot];
      if (sequence.scheduled == 0) continue;
      left_ps = saturating_subtract(left_ps,
                                    entry_ps(cost, sequence.scheduled, sequence.computed));
    }
  }
  state_.shares.clear();
  for (const Slot slot : state_.prompts) {
    const Sequence& sequence = state_.sequences[slot];
    state_.shares.push_back({slot, tokens_left(sequence), sequence.computed, 0});
  }
  prefill::LatencyTarget::divide(cost, left_ps, budget_, state_.shares);
  for (const prefill::LatencyTarget::Share& share : state_.shares) {
    const bool still_aboard =  // and no victim of those before it
        state_.sequences[share.slot].state == SequenceState::kRunning;
    if (share.tokens > 0 && still_aboard) grant(share.slot, share.tokens);
  }
  if (!state_.plan.preempted.empty()) drop_departed(state_);
}

// Whether the streams aboard, decoding beside one more, would miss a target that the newcomer alone
// would meet. Where it is out of reach anyway, keeping people waiting would not help.
bool Planner::is_over_target(const Sequence& newcomer) const {
  const std::int64_t target = target_ps();
  if (target == std::numeric_limits<std::int64_t>::max()) return false;
  const CostModel& cost = state_.config.cost;
  const std::int64_t own_ps = entry_ps(cost, 1, known_tokens(state_, newcomer));
  if (own_ps > target) return false;
  std::int64_t total_ps = own_ps;
  for (const Slot slot : state_.running) {
    const Sequence& sequence = state_.sequences[slot];
    if (sequence.state != SequenceState::kRunning) continue;
    total_ps = saturating_add(total_ps, entry_ps(cost, 1, known_tokens(state_, sequence)));
  }
  return total_ps > target;
}

}  // namespace paternoster::scheduler
