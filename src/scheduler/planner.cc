#include "scheduler/planner.h"

#include <algorithm>

#include "base/check.h"
#include "scheduler/boarding/boarding.h"
#include "scheduler/life.h"
#include "scheduler/prefill/prefill.h"
#include "scheduler/relief/relief.h"
#include "scheduler/tables.h"

namespace paternoster::scheduler {

void Planner::run() {
  clear_plan();
  if (state_.running.empty()) state_.batch_forming = true;
  bool alone = false;
  if (state_.alone_next) {
    // Somebody's whole prompt did not fit beside the running ones: this step is for prompts.
    state_.alone_next = false;
    boarding_pass();
    alone = !state_.plan.admitted.empty();
  }
  if (!alone) {
    stopped_by_ = WaitReason::kNone;
    running_pass();
    if (state_.plan.preempted.empty()) boarding_pass();
  }
  // A batch whose prompts exceed the step's tokens forms over several steps.
  state_.batch_forming = stopped_by_ == WaitReason::kTokenBudget;
  write_entries();
  write_reasons();
}

void Planner::clear_plan() {
  Plan& plan = state_.plan;
  ++plan.step;
  plan.run.clear();
  plan.tokens.clear();
  plan.blocks.clear();
  plan.copies.clear();
  plan.admitted.clear();
  plan.preempted.clear();
  plan.waiting.clear();
  plan.queue_reason = WaitReason::kNone;
  state_.plan_slots.clear();
}

void Planner::running_pass() {
  victims_end_ = state_.running.size();
  bool prompts_on_their_way = false;
  for (const Slot slot : state_.running) {
    const Sequence& sequence = state_.sequences[slot];
    if (sequence.state != SequenceState::kRunning) continue;  // a victim of this pass
    if (known_tokens(state_, sequence) - sequence.computed == 1) {
      grant(slot, 1);
    } else {
      prompts_on_their_way = true;
    }
  }
  if (prompts_on_their_way) {
    for (const Slot slot : state_.running) {
      const Sequence& sequence = state_.sequences[slot];
      if (sequence.state != SequenceState::kRunning || sequence.scheduled > 0) continue;
      const std::int32_t rest = known_tokens(state_, sequence) - sequence.computed;
      const std::int32_t tokens = prefill::tokens_now(state_.config.choices.prefill, rest,
                                                      std::max(budget_, 0), step_is_empty());
      if (tokens > 0) grant(slot, tokens);
    }
  }
  if (!state_.plan.preempted.empty()) drop_departed(state_);
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

// Preempts the last admitted sequence that holds no reservation. There is one: whoever asks.
bool Planner::relieve() {
  while (victims_end_ > 0) {
    const Slot slot = state_.running[--victims_end_];
    Sequence& victim = state_.sequences[slot];
    if (!relief::Recompute::may_be_victim(victim)) continue;
    budget_ += victim.scheduled;
    ++victim.preemptions;
    victim.preempted_in = state_.plan.step;
    state_.plan.preempted.push_back(victim.id);
    preempt(state_, now_ns_, slot);
    return true;
  }
  return false;
}

void Planner::boarding_pass() {
  stopped_by_ = WaitReason::kNone;
  while (!state_.queue.empty()) {
    const Slot slot = state_.queue.top();
    stopped_by_ = try_board(slot);
    if (stopped_by_ == WaitReason::kSiblingPrefill) {
      park(state_, slot);
    } else if (stopped_by_ != WaitReason::kNone) {
      return;
    }
  }
  stopped_by_ = WaitReason::kNone;
}

const Sequence* Planner::sibling_with_prompt(const Sequence& sequence) const {
  const Group& group = state_.groups[sequence.group];
  if (group.alive < 2) return nullptr;
  const auto prompt = static_cast<std::int32_t>(group.prompt.size());
  for (const Slot member : group.members) {
    if (member == kNoSlot) continue;
    const Sequence& sibling = state_.sequences[member];
    if (sibling.state == SequenceState::kRunning && sibling.computed >= prompt) return &sibling;
  }
  return nullptr;
}

bool Planner::batch_is_open(const Sequence& sequence, const Sequence* sibling) const {
  const bool aboard = sibling != nullptr || state_.groups[sequence.group].prefilling != kNoSlot;
  return boarding::is_open(state_.config.choices.boarding,
                           {state_.batch_forming, aboard, sequence.ever_boarded});
}

// The first of the queue boards, or says what keeps it.
WaitReason Planner::try_board(Slot slot) {
  Sequence& sequence = state_.sequences[slot];
  const Limits& limits = state_.config.limits;
  if (state_.running.size() >= static_cast<std::size_t>(limits.max_seqs)) {
    return WaitReason::kSeatLimit;
  }
  const Sequence* sibling = sibling_with_prompt(sequence);
  if (!batch_is_open(sequence, sibling)) return WaitReason::kBatchClosed;
  if (sibling == nullptr && state_.groups[sequence.group].prefilling != kNoSlot) {
    return WaitReason::kSiblingPrefill;
  }
  if (budget_ <= 0) return WaitReason::kTokenBudget;

  Start& start = state_.start;
  find_start(state_, sequence, sibling, start);
  const std::int32_t known = known_tokens(state_, sequence);
  const std::int32_t tokens = prefill::tokens_now(state_.config.choices.prefill,
                                                  known - start.computed, budget_, step_is_empty());
  // The whole of what is known must fit, though a chunk would need less: half a prompt helps
  // nobody.
  const bool reserve = relief::boards_reserved(state_.config, sequence);
  const std::int32_t table = reserve ? worst_blocks(state_, sequence) : blocks_for(state_, known);
  const auto shared = static_cast<std::int32_t>(start.blocks.size());
  if (table - shared + start.revived > unpromised(state_)) return WaitReason::kNoBlocks;
  if (tokens == 0) {
    state_.alone_next = true;
    return WaitReason::kTokenBudget;
  }
  seat(slot, sibling, tokens, reserve);
  return WaitReason::kNone;
}

void Planner::seat(Slot slot, const Sequence* sibling, std::int32_t tokens, bool reserve) {
  Sequence& sequence = state_.sequences[slot];
  Group& group = state_.groups[sequence.group];
  const Start& start = state_.start;
  state_.queue.remove(slot);
  adopt(state_, sequence, start);
  sequence.state = SequenceState::kRunning;
  sequence.holds_reservation = reserve;
  if (reserve) {
    sequence.reserved =
        worst_blocks(state_, sequence) - static_cast<std::int32_t>(start.blocks.size());
    state_.reserved += sequence.reserved;
  }
  reserve_capacity(sequence, group);
  const auto needed = static_cast<std::size_t>(blocks_for(state_, start.computed + tokens));
  while (sequence.blocks.size() < needed) grow(state_, sequence);
  if (start.copy_from) {
    state_.plan.copies.push_back({*start.copy_from, sequence.blocks[start.blocks.size()]});
    ++state_.totals.blocks_copied;
  }
  sequence.scheduled = tokens;
  budget_ -= tokens;
  state_.running.push_back(slot);
  const bool whole_prompt = start.computed >= prompt_tokens(state_, sequence);
  if (group.alive > 1 && sibling == nullptr && !whole_prompt) group.prefilling = slot;
  const bool resumed = sequence.ever_boarded;
  if (!group.ever_boarded) --state_.queued_requests;
  group.ever_boarded = sequence.ever_boarded = true;
  announce(sequence, resumed);
}

// So that decoding never allocates.
void Planner::reserve_capacity(Sequence& sequence, const Group& group) {
  const auto worst = static_cast<std::size_t>(worst_blocks(state_, sequence));
  sequence.blocks.reserve(worst);
  sequence.output.reserve(static_cast<std::size_t>(group.max_new));
  if (!state_.config.limits.prefix_cache) return;
  sequence.hashes.reserve(worst);
  sequence.nodes.reserve(worst);
}

void Planner::announce(const Sequence& sequence, bool resumed) {
  const Start& start = state_.start;
  Event& event = emit(state_, now_ns_, EventKind::kAdmitted, sequence);
  event.count = start.computed;
  event.resumed = resumed;
  event.forked = start.forked;
  state_.plan.admitted.push_back({sequence.id, start.computed});
  if (start.forked) {
    state_.totals.tokens_forked += static_cast<std::uint64_t>(start.computed);
  } else if (state_.config.limits.prefix_cache) {
    state_.totals.prefix_queried += static_cast<std::uint64_t>(known_tokens(state_, sequence));
    state_.totals.prefix_hits += static_cast<std::uint64_t>(start.computed);
  }
}

void Planner::write_entries() {
  for (const Slot slot : state_.running) {
    if (state_.sequences[slot].scheduled > 0) {
      write_entry(slot);
    } else {
      const Sequence& sequence = state_.sequences[slot];
      state_.plan.waiting.push_back(
          {sequence.id, state_.groups[sequence.group].id, WaitReason::kTokenBudget});
    }
  }
  state_.in_flight = !state_.plan.run.empty();
}

void Planner::write_entry(Slot slot) {
  Plan& plan = state_.plan;
  Sequence& sequence = state_.sequences[slot];
  RunEntry& entry = plan.run.emplace_back();
  state_.plan_slots.push_back(slot);
  entry.sequence = sequence.id;
  entry.request = state_.groups[sequence.group].id;
  entry.choice = sequence.choice;
  entry.first_position = sequence.computed;
  entry.first_token = static_cast<std::uint32_t>(plan.tokens.size());
  entry.token_count = static_cast<std::uint32_t>(sequence.scheduled);
  entry.first_block = static_cast<std::uint32_t>(plan.blocks.size());
  entry.block_count = static_cast<std::uint32_t>(sequence.blocks.size());
  const std::int32_t end = sequence.computed + sequence.scheduled;
  entry.samples = end == known_tokens(state_, sequence);
  for (std::int32_t at = sequence.computed; at < end; ++at) {
    plan.tokens.push_back(token_at(state_, sequence, at));
  }
  plan.blocks.insert(plan.blocks.end(), sequence.blocks.begin(), sequence.blocks.end());

  const std::int32_t again = std::min(end, sequence.high_water) - sequence.computed;
  state_.totals.tokens_recomputed += static_cast<std::uint64_t>(std::max(again, 0));
  state_.totals.tokens_planned += static_cast<std::uint64_t>(sequence.scheduled);
}

void Planner::write_reasons() {
  Plan& plan = state_.plan;
  auto& counts = state_.totals.waiting_by_reason;
  std::fill(std::begin(counts), std::end(counts), 0);
  counts[static_cast<std::size_t>(WaitReason::kTokenBudget)] =
      static_cast<std::int32_t>(plan.waiting.size());
  for (const SequenceId id : plan.preempted) {
    const Slot slot = *state_.sequence_slots.find(id.value);
    plan.waiting.push_back(
        {id, state_.groups[state_.sequences[slot].group].id, WaitReason::kPreempted});
  }
  counts[static_cast<std::size_t>(WaitReason::kPreempted)] =
      static_cast<std::int32_t>(plan.preempted.size());
  counts[static_cast<std::size_t>(WaitReason::kSiblingPrefill)] = state_.parked;

  state_.head = {};
  state_.head_reason = WaitReason::kNone;
  auto rest = static_cast<std::int32_t>(state_.queue.size() - plan.preempted.size());
  if (rest == 0) return;
  const Sequence& head = state_.sequences[state_.queue.top()];
  const bool everyone =
      stopped_by_ == WaitReason::kSeatLimit || stopped_by_ == WaitReason::kBatchClosed;
  plan.queue_reason = everyone ? stopped_by_ : WaitReason::kBehindEarlier;
  if (stopped_by_ != WaitReason::kNone) {
    state_.head = head.id;
    state_.head_reason = stopped_by_;
    plan.waiting.push_back({head.id, state_.groups[head.group].id, stopped_by_});
    ++counts[static_cast<std::size_t>(stopped_by_)];
    --rest;
  }
  counts[static_cast<std::size_t>(plan.queue_reason)] += rest;
}

}  // namespace paternoster::scheduler
