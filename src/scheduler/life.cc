#include "scheduler/life.h"

#include <algorithm>

#include "base/check.h"
#include "scheduler/order/order.h"
#include "scheduler/relief/relief.h"
#include "scheduler/tables.h"

namespace paternoster::scheduler {

void begin_verb(State& state, std::int64_t now_ns) {
  state.now_ns = now_ns;
  if (!state.delivered) return;
  state.events.clear();
  state.delivered = false;
}

Event& emit(State& state, EventKind kind, RequestId request) {
  Event& event = state.events.emplace_back();
  event.at_ns = state.now_ns;
  event.kind = kind;
  event.request = request;
  return event;
}

Event& emit(State& state, EventKind kind, const Sequence& sequence) {
  Event& event = emit(state, kind, state.groups[sequence.group].id);
  event.sequence = sequence.id;
  event.choice = sequence.choice;
  return event;
}

void enqueue(State& state, Slot slot) {
  Sequence& sequence = state.sequences[slot];
  const Group& group = state.groups[sequence.group];
  sequence.state = SequenceState::kWaiting;
  sequence.rank = order::rank_of(state.config, group, sequence);
  state.queue.push(slot, sequence);
  const Order order = state.config.choices.order;
  if (!order::promotes(order)) return;
  if (order == Order::kShortest && sequence.promoted) return;
  const std::int64_t since_ns = order == Order::kShortest ? group.submitted_ns : state.now_ns;
  const std::int64_t due_ns = saturating_add(since_ns, state.config.tuning.promotion_ns);
  state.promotions.push(slot, {due_ns, sequence.turn});
}

void dequeue(State& state, Slot slot) {
  state.queue.remove(slot);
  if (state.promotions.contains(slot)) state.promotions.remove(slot);
}

void join_level(const State& state, Sequence& sequence) {
  sequence.level = order::Multilevel::join_level(state.config.tuning, state.config.cost,
                                                 known_tokens(state, sequence));
  sequence.served_ns = 0;
}

void park(State& state, Slot slot) {
  Sequence& sequence = state.sequences[slot];
  dequeue(state, slot);
  sequence.state = SequenceState::kParked;
  ++state.groups[sequence.group].parked;
  ++state.parked;
}

void unpark(State& state, Group& group) {
  if (group.parked == 0) return;
  for (const Slot member : group.members) {
    if (member == kNoSlot || state.sequences[member].state != SequenceState::kParked) continue;
    --group.parked;
    --state.parked;
    enqueue(state, member);
  }
}

void end_prefill(State& state, Slot slot) {
  Group& group = state.groups[state.sequences[slot].group];
  if (group.prefilling != slot) return;
  group.prefilling = kNoSlot;
  unpark(state, group);
}

void preempt(State& state, Slot slot, PreemptCause cause) {
  Sequence& sequence = state.sequences[slot];
  PATERNOSTER_CHECK(sequence.state == SequenceState::kRunning);
  Event& event = emit(state, EventKind::kPreempted, sequence);
  event.count = sequence.computed;
  event.cause = cause;
  if (cause != PreemptCause::kSlice &&
      relief::swaps(state.config, sequence.computed, blocks_for(state, sequence.computed))) {
    event.swapped_blocks = swap_out(state, sequence);
  }
  if (cause == PreemptCause::kSlice) {
    ++state.totals.slices;
    ++sequence.slices;
    sequence.in_pool = true;
    sequence.horizon = 0;
    sequence.turn = state.next_turn++;
  } else {
    ++state.totals.preemptions;
  }
  release_table(state, sequence);
  end_prefill(state, slot);
  enqueue(state, slot);
}

void finish(State& state, Slot slot, FinishReason reason) {
  Sequence& sequence = state.sequences[slot];
  const Slot group_slot = sequence.group;
  Group& group = state.groups[group_slot];
  Event& event = emit(state, EventKind::kFinished, sequence);
  event.count = sequence.told;
  event.finish = reason;
  event.recomputed_tokens = sequence.recomputed;
  event.swapped_blocks = sequence.swapped;

  if (sequence.state == SequenceState::kWaiting) dequeue(state, slot);
  if (sequence.state == SequenceState::kParked) {
    --group.parked;
    --state.parked;
  }
  release_table(state, sequence);
  leave_host(state, sequence);
  sequence.state = SequenceState::kFree;
  end_prefill(state, slot);
  if (state.deadlines.contains(slot)) state.deadlines.remove(slot);
  if (state.queue.by_tenant()) state.queue.fair().leave(sequence.lane);
  group.members[static_cast<std::size_t>(sequence.choice)] = kNoSlot;
  state.sequence_slots.erase(sequence.id.value);
  sequence.group = kNoSlot;
  state.free_sequences.push_back(slot);

  if (--group.alive > 0) return;
  emit(state, EventKind::kRequestFinished, group.id);
  ++state.totals.requests_finished;
  if (!group.ever_boarded) --state.queued_requests;
  state.group_slots.erase(group.id.value);
  group.prompt = {};
  state.free_groups.push_back(group_slot);
}

void drop_departed(State& state) {
  std::erase_if(state.running,
                [&](Slot slot) { return state.sequences[slot].state != SequenceState::kRunning; });
}

}  // namespace paternoster::scheduler
