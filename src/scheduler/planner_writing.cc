// The flat plan: entries, and why everyone else waits.
#include <algorithm>

#include "scheduler/boarding/boarding.h"
#include "scheduler/order/order.h"
#include "scheduler/planner.h"

namespace paternoster::scheduler {

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
  if (state_.in_flight) {  // else nobody carries it out, and no block is written
    state_.plan.swap_out.assign(state_.leaving.begin(), state_.leaving.end());
    state_.leaving.clear();
  }
  if (window_is_open_ && !state_.in_flight) {
    state_.plan.again_ns = boarding::Window::closes_ns(state_.config, state_.window_from_ns);
    if (!state_.deadlines.empty()) {
      state_.plan.again_ns =
          std::min(state_.plan.again_ns, saturating_add(state_.deadlines.top_rank().first, 1));
    }
  }
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
  const std::vector<TokenId>& draft = sequence.guesses.draft;
  entry.drafted = static_cast<std::uint32_t>(draft.size());
  const std::int32_t known_end = end - static_cast<std::int32_t>(draft.size());
  entry.samples = known_end == known_tokens(state_, sequence);
  for (std::int32_t at = sequence.computed; at < known_end; ++at) {
    plan.tokens.push_back(token_at(state_, sequence, at));
  }
  plan.tokens.insert(plan.tokens.end(), draft.begin(), draft.end());
  state_.totals.tokens_drafted += draft.size();
  plan.blocks.insert(plan.blocks.end(), sequence.blocks.begin(), sequence.blocks.end());

  const std::int32_t again = std::min(end, sequence.high_water) - sequence.computed;
  sequence.recomputed += std::max(again, 0);
  state_.totals.tokens_recomputed += static_cast<std::uint64_t>(std::max(again, 0));
  state_.totals.tokens_planned += static_cast<std::uint64_t>(sequence.scheduled);
}

void Planner::write_reasons() {
  Plan& plan = state_.plan;
  auto& counts = state_.totals.waiting_by_reason;
  std::fill(std::begin(counts), std::end(counts), 0);
  counts[static_cast<std::size_t>(WaitReason::kTokenBudget)] =
      static_cast<std::int32_t>(plan.waiting.size());
  for (const Preemption& one : plan.preempted) {
    const Slot slot = *state_.sequence_slots.find(one.sequence.value);
    plan.waiting.push_back(
        {one.sequence, state_.groups[state_.sequences[slot].group].id, WaitReason::kPreempted});
  }
  counts[static_cast<std::size_t>(WaitReason::kPreempted)] =
      static_cast<std::int32_t>(plan.preempted.size());
  counts[static_cast<std::size_t>(WaitReason::kSiblingPrefill)] = state_.parked;

  state_.head = {};
  state_.head_reason = WaitReason::kNone;
  auto rest = static_cast<std::int32_t>(state_.queue.size() - plan.preempted.size());
  if (rest == 0) return;
  const WaitReason behind = order::reason_behind(state_.config.choices.order);
  const bool everyone =
      stopped_by_ == WaitReason::kBatchClosed || stopped_by_ == WaitReason::kWindowOpen ||
      (stopped_by_ == WaitReason::kSeatLimit && behind == WaitReason::kBehindEarlier);
  plan.queue_reason = everyone ? stopped_by_ : behind;
  if (stopped_by_ != WaitReason::kNone) {
    const Sequence& head = state_.sequences[stopped_at_];
    state_.head = head.id;
    state_.head_reason = stopped_by_;
    plan.waiting.push_back({head.id, state_.groups[head.group].id, stopped_by_});
    ++counts[static_cast<std::size_t>(stopped_by_)];
    --rest;
  }
  counts[static_cast<std::size_t>(plan.queue_reason)] += rest;
}

}  // namespace paternoster::scheduler
