#include "scheduler/life.h"

#include <algorithm>

#include "base/check.h"
#include "scheduler/order/order.h"
#include "scheduler/tables.h"

namespace paternoster::scheduler {

void begin_verb(State& state) {
  if (!state.delivered) return;
  state.events.clear();
  state.delivered = false;
}

Event& emit(State& state, std::int64_t now_ns, EventKind kind, RequestId request) {
  Event& event = state.events.emplace_back();
  event.at_ns = now_ns;
  event.kind = kind;
  event.request = request;
  return event;
}

Event& emit(State& state, std::int64_t now_ns, EventKind kind, const Sequence& sequence) {
  Event& event = emit(state, now_ns, kind, state.groups[sequence.group].id);
  event.sequence = sequence.id;
  event.choice = sequence.choice;
  return event;
}

void enqueue(State& state, Slot slot) {
  Sequence& sequence = state.sequences[slot];
  sequence.state = SequenceState::kWaiting;
  state.queue.push(slot, order::rank_of(state.config.choices.order, sequence));
}

void park(State& state, Slot slot) {
  Sequence& sequence = state.sequences[slot];
  state.queue.remove(slot);
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

void preempt(State& state, std::int64_t now_ns, Slot slot) {
  Sequence& sequence = state.sequences[slot];
  PATERNOSTER_CHECK(sequence.state == SequenceState::kRunning);
  emit(state, now_ns, EventKind::kPreempted, sequence).count = sequence.computed;
  ++state.totals.preemptions;
  release_table(state, sequence);
  end_prefill(state, slot);
  enqueue(state, slot);
}

void finish(State& state, std::int64_t now_ns, Slot slot, FinishReason reason) {
  Sequence& sequence = state.sequences[slot];
  const Slot group_slot = sequence.group;
  Group& group = state.groups[group_slot];
  Event& event = emit(state, now_ns, EventKind::kFinished, sequence);
  event.count = static_cast<std::int32_t>(sequence.output.size());
  event.finish = reason;

  if (sequence.state == SequenceState::kWaiting) state.queue.remove(slot);
  if (sequence.state == SequenceState::kParked) {
    --group.parked;
    --state.parked;
  }
  release_table(state, sequence);
  sequence.state = SequenceState::kFree;
  end_prefill(state, slot);
  group.members[static_cast<std::size_t>(sequence.choice)] = kNoSlot;
  state.sequence_slots.erase(sequence.id.value);
  sequence.group = kNoSlot;
  state.free_sequences.push_back(slot);

  if (--group.alive > 0) return;
  emit(state, now_ns, EventKind::kRequestFinished, group.id);
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
