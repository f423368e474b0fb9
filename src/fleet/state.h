// All that the fleet remembers, and the small moves that more than one verb makes. Internal to
// fleet/ (check.h and tests read it). The files that work on it:
//
//   life        riders and batches come, return and go
//   dispatcher  plan(): gather, cut, place
//   fleet       the verbs
#pragma once

#include <cstdint>
#include <vector>

#include "fleet/batcher.h"
#include "fleet/choices.h"
#include "fleet/event.h"
#include "fleet/fleet.h"
#include "fleet/known_prefixes.h"
#include "fleet/placement/view.h"
#include "fleet/plan.h"
#include "scheduler/flat_map.h"

namespace paternoster::fleet {

using Slot = std::uint32_t;
inline constexpr Slot kNoSlot = UINT32_MAX;

// So that a load, the sum of estimates below kMostNs, stays below 2^60.
inline constexpr std::int32_t kMostBatches = 1 << 15;

enum class Place : std::uint8_t { kFree, kPool, kBatch };

struct Rider {
  RequestId id;
  std::uint64_t arrival = 0;
  std::int32_t prompt = 0;
  std::int32_t max_tokens = 0;
  std::int32_t choices = 1;
  std::int32_t output = 0;          // of finished slices, and of lost ones what was reported
  std::int32_t slice_output = 0;    // reported of the slice under way
  std::int32_t slice_tokens = 0;    // most it may produce in it
  std::int32_t slices = 0;
  std::int32_t failures = 0;
  Place place = Place::kFree;
  Slot pool_at = kNoSlot;           // place in State::pool
  Slot batch = kNoSlot;
  bool kept = false;                // its KV is on `instance`
  InstanceId instance;              // where it last ran
  BatchId last_batch;
  std::vector<std::uint64_t> prefix;

  std::int32_t length() const { return prompt + output; }
  std::int32_t remaining() const { return max_tokens - output; }
};

struct SentBatch {
  BatchId id;  // 0: free
  InstanceId instance;
  std::vector<Slot> members;  // kNoSlot: cancelled
  std::int32_t alive = 0;
  std::int32_t iterations = 0;
  std::int64_t estimate_ns = 0;
};

struct Instance {
  InstanceStats stats;
  KnownPrefixes known;
};

// A batch that waits for its engine within one plan.
struct Candidate {
  Group group;         // in State::items
  bool kept = false;
  InstanceId home;     // if kept
  bool first = false;  // it has the oldest request whose KV is nowhere
};

struct State {
  explicit State(const Config& configuration);

  Config config;
  std::vector<Instance> instances;
  std::vector<Rider> riders;  // slots
  std::vector<Slot> free_riders;
  std::vector<SentBatch> batches;  // slots
  std::vector<Slot> free_batches;
  scheduler::FlatMap rider_slots;  // request id -> slot
  scheduler::FlatMap batch_slots;  // batch id -> slot
  std::vector<Slot> pool;          // in no order
  std::uint64_t next_arrival = 1;
  std::uint64_t next_batch = 1;
  std::int64_t next_dispatch_ns = INT64_MIN;
  std::int64_t mean_output_x16 = 0;  // of finished requests, lately: what a whole one is expected to be
  InstanceId last_placed;
  bool any_placed = false;
  bool draining = false;

  Plan plan;
  std::vector<Event> events;
  Stats totals;  // the part of Stats that only grows, and queued, running, batches

  // scratch of plan()
  Batcher batcher;
  std::vector<Item> items;
  std::vector<Item> part;
  std::vector<Item> stay;
  std::vector<Group> groups;
  std::vector<Candidate> candidates;
  std::vector<placement::Engine> engines;
};

// ---- life.cc

Event& emit(State& state, std::int64_t now_ns, EventKind kind, const Rider& rider);

void enter_pool(State& state, Slot slot);
void leave_pool(State& state, Slot slot);

// The rider's terminal event; it leaves wherever it is, and its slot is free.
void finish(State& state, std::int64_t now_ns, Slot slot, FinishReason reason);

// The end of a batch's life: its load is off the engine, its slot free. Members are gone already.
void close_batch(State& state, Slot batch);

// A member's slice has ended with this much more output: back to the pool, or finished.
void end_slice(State& state, std::int64_t now_ns, Slot slot, std::int32_t produced, bool stopped);

// Every member loses its slice, with or without a mark against it.
void lose_batch(State& state, std::int64_t now_ns, Slot batch, bool blamed);

// Gives up the KV kept for a rider of the pool. `told`: the engine lives and must be told.
void drop_kept(State& state, Slot slot, bool told);

// What a rider may produce in a slice, and what it probably will.
std::int32_t slice_iterations(const State& state, const Rider& rider);
std::int32_t expected_iterations(const State& state, const Rider& rider);

}  // namespace paternoster::fleet
