// The moves between states: waiting, parked, running, over. Each keeps the queue, the group's
// counts and the events right; callers decide who and when. Internal to scheduler/.
#pragma once

#include <cstdint>

#include "scheduler/state.h"

namespace paternoster::scheduler {

// Events that were returned go; to be called first by every verb.
void begin_verb(State& state, std::int64_t now_ns);

// An event of now about a request, or about one of its sequences; the caller fills the rest.
Event& emit(State& state, EventKind kind, RequestId request);
Event& emit(State& state, EventKind kind, const Sequence& sequence);

// Into the waiting queue, at its rank; and out of it.
void enqueue(State& state, Slot slot);
void dequeue(State& state, Slot slot);

// Order multilevel: the level that its known tokens call for, with a fresh quantum.
void join_level(const State& state, Sequence& sequence);

// The first of the queue steps aside while a sibling computes the prompt they share.
void park(State& state, Slot slot);

// Whoever was parked may board again.
void unpark(State& state, Group& group);

// The running sequence no longer computes the prompt for its siblings (done, or gone).
void end_prefill(State& state, Slot slot);

// Running to waiting: blocks are given back, output is kept. The caller removes it from `running`.
void preempt(State& state, Slot slot, PreemptCause cause);

// From any state to over: kFinished, and kRequestFinished with the last. A running sequence's slot
// stays in `running` until the caller calls drop_departed.
void finish(State& state, Slot slot, FinishReason reason);

// Removes from `running` whoever is no longer running, keeping the order.
void drop_departed(State& state);

}  // namespace paternoster::scheduler
