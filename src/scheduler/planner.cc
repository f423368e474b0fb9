#include "scheduler/planner.h"

#include <algorithm>

#include "base/check.h"
#include "scheduler/boarding/boarding.h"
#include "scheduler/life.h"
#include "scheduler/order/order.h"
#include "scheduler/prefill/prefill.h"
#include "scheduler/relief/relief.h"
#include "scheduler/tables.h"

namespace paternoster::scheduler {

void Planner::run() {
  clear_plan();
  end_overdue();
  promote();
  if (state_.running.empty()) state_.batch_forming = true;
  window_is_open_ = gathers_arrivals();
  bool alone = false;
  if (state_.alone_next) {
    // Somebody's whole prompt did not fit beside the running ones: this step is for prompts.
    state_.alone_next = false;
    urgent_pass(false);
    boarding_pass();
    alone = !state_.plan.admitted.empty();
  }
  if (!alone) {
    stopped_by_ = WaitReason::kNone;
    urgent_pass(true);
    running_pass();
    if (!short_of_blocks_) boarding_pass();
    if (prefill::divides_after_boarding(state_.config.choices.prefill)) divide_step();
  }
  // A batch whose prompts exceed the step's tokens forms over several steps.
  state_.batch_forming = stopped_by_ == WaitReason::kTokenBudget;
  draft_pass();
  write_entries();
  write_reasons();
}

void Planner::clear_plan() {
  Plan& plan = state_.plan;
  ++plan.step;
  plan.run.clear();
  plan.tokens.clear();
  plan.blocks.clear();
  plan.swap_out.clear();
  plan.swap_in.clear();
  plan.copies.clear();
  state_.host.begin_step();
  plan.admitted.clear();
  plan.preempted.clear();
  plan.waiting.clear();
  plan.queue_reason = WaitReason::kNone;
  plan.again_ns = 0;
  state_.plan_slots.clear();
}

// Boarding window: nobody runs, and the unit is neither full nor has its first waited long enough.
bool Planner::gathers_arrivals() const {
  const Config& config = state_.config;
  return config.choices.boarding == Boarding::kWindow && state_.running.empty() &&
         state_.queue.size() < static_cast<std::size_t>(boarding::Window::unit(config)) &&
         now_ns_ < boarding::Window::closes_ns(config, state_.window_from_ns);
}

// Ends whoever's deadline has passed, and under `deadline` whoever could only miss it.
void Planner::end_overdue() {
  bool left = false;
  while (!state_.deadlines.empty() && state_.deadlines.top_rank().first < now_ns_) {
    const Slot slot = state_.deadlines.top();
    if (may_still_begin(slot)) continue;
    finish(state_, slot, FinishReason::kDeadline);
    left = true;
  }
  if (left) drop_departed(state_);
}

// It was to begin by now at the latest; unless more of its prompt has come into the cache, or it has
// begun: then its deadline itself is looked at next.
bool Planner::may_still_begin(Slot slot) {
  const Sequence& sequence = state_.sequences[slot];
  const Group& group = state_.groups[sequence.group];
  if (group.deadline_ns < now_ns_) return false;
  const std::int64_t due_ns = group.ever_boarded ? group.deadline_ns : latest_start_ns(state_, group);
  if (due_ns < now_ns_) return false;
  state_.deadlines.remove(slot);
  state_.deadlines.push(slot, {due_ns, sequence.turn});
  return true;
}

void Planner::promote() {
  for (std::size_t most = state_.promotions.size(); most > 0; --most) {
    if (state_.promotions.empty() || state_.promotions.top_rank().first > now_ns_) return;
    const Slot slot = state_.promotions.top();
    Sequence& sequence = state_.sequences[slot];
    dequeue(state_, slot);
    sequence.promoted = true;
    if (state_.config.choices.order == Order::kMultilevel) join_level(state_, sequence);
    enqueue(state_, slot);
  }
}

void Planner::urgent_pass(bool decodes_follow) {
  if (state_.queue.empty() || !order::has_classes(state_.config)) return;
  count_pledges();
  for (const Slot slot : state_.running) {
    const bool decodes = tokens_left(state_.sequences[slot]) == 1;
    held_back_ += decodes_follow && decodes ? 1 : 0;
  }
  while (!state_.queue.empty() && !lost_its_seat(state_.queue.top()) &&
         outranks_anyone(state_.queue.top())) {
    const Slot slot = state_.queue.top();
    const WaitReason reason = try_board(slot, true);
    if (reason == WaitReason::kSiblingPrefill) {
      park(state_, slot);
    } else if (reason != WaitReason::kNone) {
      break;
    }
  }
  held_back_ = 0;
  departed_ = 0;
  if (!state_.plan.preempted.empty()) drop_departed(state_);
}

void Planner::running_pass() {
  const Prefill prefill = state_.config.choices.prefill;
  if (prefill::decodes_first(prefill)) {
    for (const Slot slot : state_.running) {
      const Sequence& sequence = state_.sequences[slot];
      // A victim of this pass, or one that boarded in the urgent pass.
      if (sequence.state != SequenceState::kRunning || sequence.scheduled > 0) continue;
      if (tokens_left(sequence) == 1) grant(slot, 1);
    }
  }
  if (!prefill::divides_after_boarding(prefill)) prompt_pass();
  if (!state_.plan.preempted.empty()) drop_departed(state_);
}

// Fills state_.prompts with those who run and have no tokens yet, the more urgent classes first.
void Planner::list_prompts() {
  std::vector<Slot>& prompts = state_.prompts;
  prompts.clear();
  for (const Slot slot : state_.running) {
    const Sequence& sequence = state_.sequences[slot];
    if (sequence.state == SequenceState::kRunning && sequence.scheduled == 0) {
      prompts.push_back(slot);
    }
  }
  if (order::has_classes(state_.config)) {
    std::ranges::sort(prompts, {}, [&](Slot slot) {
      const Sequence& sequence = state_.sequences[slot];
      return order::rank_of(state_.config, state_.groups[sequence.group], sequence);
    });
  }
}

void Planner::prompt_pass() {
  list_prompts();
  for (const Slot slot : state_.prompts) {
    const Sequence& sequence = state_.sequences[slot];
    if (sequence.state != SequenceState::kRunning) continue;  // a victim of this pass
    const std::int32_t tokens =
        prefill::tokens_now(state_.config.choices.prefill, tokens_left(sequence),
                            std::max(budget_, 0), step_is_empty());
    if (tokens > 0) grant(slot, tokens);
  }
}

// Blocks for the next `tokens` of a running sequence, at others' expense if need be. False if it
// became the victim itself.
bool Planner::grant(Slot slot, std::int32_t tokens) {
  Sequence& sequence = state_.sequences[slot];
  const auto needed = static_cast<std::size_t>(blocks_for(state_, sequence.computed + tokens));
  while (sequence.blocks.size() < needed) {
    if (sequence.reserved == 0 && unpromised(state_) <= 0) {
      PATERNOSTER_CHECK(relieve());
      if (sequence.state != SequenceState::kRunning) return false;
      continue;
    }
    grow(state_, sequence);
  }
  sequence.scheduled = tokens;
  budget_ -= tokens;
  return true;
}

relief::Candidate Planner::candidate(std::size_t place) const {
  const Sequence& sequence = state_.sequences[state_.running[place]];
  return {order::class_of(state_.config, state_.groups[sequence.group], sequence),
          sequence.computed, place};
}

// Takes the seat of a victim that holds no reservation. There is one: whoever asks.
bool Planner::relieve() {
  std::optional<relief::Candidate> worst;
  for (std::size_t place = 0; place < state_.running.size(); ++place) {
    if (!relief::Recompute::may_be_victim(state_.sequences[state_.running[place]])) continue;
    const relief::Candidate other = candidate(place);
    if (!worst || relief::is_better_victim(state_.config.choices.victim, other, *worst)) {
      worst = other;
    }
  }
  if (!worst) return false;
  short_of_blocks_ = true;
  take_seat_of(state_.running[worst->admitted], PreemptCause::kBlocks);
  return true;
}

void Planner::take_seat_of(Slot slot, PreemptCause cause) {
  Sequence& victim = state_.sequences[slot];
  budget_ += victim.scheduled;
  pledged_ -= pledge_of(victim);
  // Under `priority` ageing bounds how often a higher class takes the seat.
  if (cause == PreemptCause::kBlocks || state_.config.choices.order == Order::kMultilevel) {
    ++victim.preemptions;
  }
  victim.preempted_in = state_.plan.step;
  state_.plan.preempted.push_back({victim.id, cause});
  preempt(state_, slot, cause);
}

void Planner::boarding_pass() {
  stopped_by_ = WaitReason::kNone;
  if (state_.queue.empty()) return;
  count_pledges();
  while (!state_.queue.empty() && !lost_its_seat(state_.queue.top())) {
    const Slot slot = state_.queue.top();
    stopped_by_ = try_board(slot, false);
    if (stopped_by_ == WaitReason::kSiblingPrefill) {
      park(state_, slot);
    } else if (stopped_by_ != WaitReason::kNone) {
      stopped_at_ = slot;
      return;
    }
  }
  stopped_by_ = WaitReason::kNone;
}

}  // namespace paternoster::scheduler
