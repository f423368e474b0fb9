// The boarding of one sequence: seat, batch, tokens, blocks; and whose seat it may take for that.
#include <algorithm>

#include "base/check.h"
#include "scheduler/boarding/boarding.h"
#include "scheduler/life.h"
#include "scheduler/order/order.h"
#include "scheduler/planner.h"
#include "scheduler/prefill/prefill.h"
#include "scheduler/relief/relief.h"
#include "scheduler/tables.h"

namespace paternoster::scheduler {

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
  // Who returned at a slice's end is no part of this batch, whoever of its siblings is.
  const bool aboard = !sequence.in_pool && (sibling != nullptr ||
                                            state_.groups[sequence.group].prefilling != kNoSlot);
  return boarding::is_open(state_.config.choices.boarding,
                           {state_.batch_forming, aboard,
                            sequence.ever_boarded && !sequence.in_pool, window_is_open_});
}

bool Planner::outranks(Slot waiter, Slot rider) const {
  const Sequence& first = state_.sequences[waiter];
  const Sequence& second = state_.sequences[rider];
  return second.state == SequenceState::kRunning && first.group != second.group &&
         order::outranks(state_.config, state_.groups[first.group], first,
                         state_.groups[second.group], second);
}

bool Planner::outranks_anyone(Slot waiter) const {
  return std::ranges::any_of(state_.running, [&](Slot rider) { return outranks(waiter, rider); });
}

// Blocks of a running sequence's known tokens that are neither in its table nor reserved.
std::int32_t Planner::pledge_of(const Sequence& sequence) const {
  if (sequence.holds_reservation) return 0;
  return std::max(0, blocks_for(state_, known_tokens(state_, sequence)) -
                         static_cast<std::int32_t>(sequence.blocks.size()));
}

void Planner::count_pledges() {
  pledged_ = 0;
  for (const Slot slot : state_.running) pledged_ += pledge_of(state_.sequences[slot]);
}

// Blocks that state_.start leaves wanting for the sequence to board; positive if it cannot. The
// whole of what is known must fit, though a chunk would need less: half a prompt helps nobody.
std::int32_t Planner::blocks_missing(const Sequence& sequence, bool reserve) const {
  const Start& start = state_.start;
  const std::int32_t table = reserve ? worst_blocks(state_, sequence)
                                     : blocks_for(state_, known_tokens(state_, sequence));
  const auto shared = static_cast<std::int32_t>(start.blocks.size());
  return table - shared + start.revived - (unpromised(state_) - pledged_);
}

// Blocks that come free if the victim leaves and state_.start is taken.
std::int32_t Planner::freed_by(const Sequence& victim) const {
  const std::vector<BlockId>& shared = state_.start.blocks;
  std::int32_t freed = victim.reserved + pledge_of(victim);
  for (std::size_t at = 0; at < victim.blocks.size(); ++at) {
    const BlockId block = victim.blocks[at];
    const bool is_shared = at < shared.size() && shared[at] == block;
    freed += state_.pool.references(block) == 1 && !is_shared ? 1 : 0;
  }
  return freed;
}

// Fills state_.victims with riders that the waiter outranks, until so many seats and blocks come
// free. False if all of them are not enough.
bool Planner::choose_victims(Slot waiter, std::int32_t seats, std::int32_t blocks) {
  std::vector<Slot>& victims = state_.victims;
  victims.clear();
  while (seats > 0 || blocks > 0) {
    std::optional<relief::Candidate> worst;
    for (std::size_t place = 0; place < state_.running.size(); ++place) {
      const Slot rider = state_.running[place];
      if (!outranks(waiter, rider) || std::ranges::find(victims, rider) != victims.end()) continue;
      const relief::Candidate other = candidate(place);
      if (!worst || relief::is_better_victim(state_.config.choices.victim, other, *worst)) {
        worst = other;
      }
    }
    if (!worst) return false;
    victims.push_back(state_.running[worst->admitted]);
    --seats;
    blocks -= freed_by(state_.sequences[victims.back()]);
  }
  return true;
}

bool Planner::is_still_blocked(const Sequence& sequence) const {
  return state_.blocked == sequence.id && state_.blocked_at_releases == state_.pool.releases() &&
         state_.plan.step < state_.blocked_until_step;
}

// The first of the queue boards, or says what keeps it.
WaitReason Planner::try_board(Slot slot, bool may_take) {
  Sequence& sequence = state_.sequences[slot];
  const auto taken = static_cast<std::int32_t>(state_.running.size() - departed_);
  const std::int32_t seats_missing = taken < boarding::seats(state_.config) ? 0 : 1;
  if (seats_missing > 0 && !may_take) return WaitReason::kSeatLimit;
  const Sequence* sibling = sibling_with_prompt(sequence);
  if (!batch_is_open(sequence, sibling)) {
    return window_is_open_ ? WaitReason::kWindowOpen : WaitReason::kBatchClosed;
  }
  if (sibling == nullptr && state_.groups[sequence.group].prefilling != kNoSlot) {
    return WaitReason::kSiblingPrefill;
  }
  if (budget_ - held_back_ + seats_missing <= 0) return WaitReason::kTokenBudget;

  if (!may_take && is_still_blocked(sequence)) return WaitReason::kNoBlocks;
  find_start(state_, sequence, sibling, state_.start);
  const bool reserve = relief::boards_reserved(state_.config, sequence);
  const std::int32_t blocks = std::max(0, blocks_missing(sequence, reserve));
  if (blocks > 0 && !may_take) {
    state_.blocked = sequence.id;
    state_.blocked_at_releases = state_.pool.releases();
    state_.blocked_until_step = state_.plan.step + kStepsBlocked;
    return WaitReason::kNoBlocks;
  }
  if (!choose_victims(slot, seats_missing, blocks)) {
    return seats_missing > 0 ? WaitReason::kSeatLimit : WaitReason::kNoBlocks;
  }
  const bool divides_later = prefill::divides_after_boarding(state_.config.choices.prefill);
  if (divides_later && is_over_target(sequence)) return WaitReason::kLatencyTarget;
  const std::int32_t tokens = divides_later ? 0 : tokens_now(sequence);
  if (tokens == 0 && !divides_later) return WaitReason::kTokenBudget;
  if (!state_.victims.empty() && !take_victims(sequence, reserve)) return WaitReason::kNoBlocks;
  seat(slot, sibling, tokens, reserve);
  return WaitReason::kNone;
}

// What the sequence may compute in this step if the victims leave; 0: not in this step.
std::int32_t Planner::tokens_now(const Sequence& sequence) {
  std::int32_t decodes_to_come = held_back_;
  for (const Slot victim : state_.victims) {
    decodes_to_come -= tokens_left(state_.sequences[victim]) == 1 ? 1 : 0;
  }
  decodes_to_come = std::max(decodes_to_come, 0);
  const std::int32_t rest = known_tokens(state_, sequence) - state_.start.computed;
  const std::int32_t tokens =
      prefill::tokens_now(state_.config.choices.prefill, rest,
                          std::max(budget_ - decodes_to_come, 0),
                          step_is_empty() && decodes_to_come == 0);
  if (tokens == 0 && state_.config.choices.prefill == Prefill::kWhole) state_.alone_next = true;
  return tokens;
}

// Those who were chosen leave. False if that did not free what it promised to: then the next step
// sees what it did free.
bool Planner::take_victims(Sequence& sequence, bool reserve) {
  for (const Slot victim : state_.victims) {
    held_back_ -= held_back_ > 0 && tokens_left(state_.sequences[victim]) == 1 ? 1 : 0;
    take_seat_of(victim, PreemptCause::kClass);
    ++departed_;
  }
  Start& start = state_.start;
  start.revived = static_cast<std::int32_t>(std::ranges::count_if(
      start.blocks, [&](BlockId block) { return state_.pool.references(block) == 0; }));
  return blocks_missing(sequence, reserve) <= 0;
}

void Planner::seat(Slot slot, const Sequence* sibling, std::int32_t tokens, bool reserve) {
  Sequence& sequence = state_.sequences[slot];
  Group& group = state_.groups[sequence.group];
  const Start& start = state_.start;
  dequeue(state_, slot);
  adopt(state_, sequence, start);
  sequence.state = SequenceState::kRunning;
  sequence.horizon = horizon(state_, sequence);
  sequence.in_pool = false;
  sequence.holds_reservation = reserve;
  if (reserve) {
    sequence.reserved =
        worst_blocks(state_, sequence) - static_cast<std::int32_t>(start.blocks.size());
    state_.reserved += sequence.reserved;
  }
  reserve_capacity(sequence, group);
  const auto needed = static_cast<std::size_t>(blocks_for(state_, start.computed + tokens));
  while (sequence.blocks.size() < needed) grow(state_, sequence);
  pledged_ += pledge_of(sequence);
  const std::int32_t swapped =
      start.swapped ? swap_in(state_, sequence, start.blocks.size()) : 0;
  leave_host(state_, sequence);
  if (start.swapped) index_computed(state_, sequence);  // copied in before anything is computed
  if (start.copy_from) {
    state_.plan.copies.push_back({*start.copy_from, sequence.blocks[start.blocks.size()]});
    ++state_.totals.blocks_copied;
  }
  sequence.scheduled = tokens;
  budget_ -= tokens;
  state_.running.push_back(slot);
  const bool whole_prompt = start.computed >= prompt_tokens(state_, sequence);
  if (group.alive > 1 && sibling == nullptr && !whole_prompt) group.prefilling = slot;
  charge_prompt(sequence);
  const bool resumed = sequence.ever_boarded;
  if (!group.ever_boarded) --state_.queued_requests;
  group.ever_boarded = sequence.ever_boarded = true;
  announce(sequence, resumed).swapped_blocks = swapped;
}

// Once a sequence: what is computed again after a preemption was paid for.
void Planner::charge_prompt(const Sequence& sequence) {
  if (!state_.queue.by_tenant() || sequence.ever_boarded) return;
  const Tuning& tuning = state_.config.tuning;
  const std::int64_t cached = state_.start.computed;
  const std::int64_t computed = prompt_tokens(state_, sequence) - cached;
  state_.queue.fair().charge(sequence.lane,
                             computed * tuning.prompt_charge + cached * tuning.cached_charge);
}

// So that decoding never allocates.
void Planner::reserve_capacity(Sequence& sequence, const Group& group) {
  const auto worst = static_cast<std::size_t>(worst_blocks(state_, sequence));
  sequence.blocks.reserve(worst);
  sequence.output.reserve(static_cast<std::size_t>(std::max(group.max_new, sequence.horizon)));
  if (!state_.config.limits.prefix_cache) return;
  sequence.hashes.reserve(worst);
  sequence.nodes.reserve(worst);
}

Event& Planner::announce(const Sequence& sequence, bool resumed) {
  const Start& start = state_.start;
  Event& event = emit(state_, EventKind::kAdmitted, sequence);
  event.count = start.computed;
  event.resumed = resumed;
  event.forked = start.forked;
  state_.plan.admitted.push_back({sequence.id, start.computed});
  if (start.forked) {
    state_.totals.tokens_forked += static_cast<std::uint64_t>(start.computed);
  } else if (state_.config.limits.prefix_cache && !start.swapped) {
    state_.totals.prefix_queried += static_cast<std::uint64_t>(known_tokens(state_, sequence));
    state_.totals.prefix_hits += static_cast<std::uint64_t>(start.computed);
  }
  return event;
}

}  // namespace paternoster::scheduler
