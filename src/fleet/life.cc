// Riders and batches come, return and go: the moves of state.h.
#include <algorithm>

#include "base/check.h"
#include "fleet/state.h"

namespace paternoster::fleet {
namespace {

Instance& engine_of(State& state, InstanceId id) { return state.instances[id.value]; }

// Takes a member out of its batch: its seat is empty, its promised memory free.
void leave_batch(State& state, Slot slot) {
  Rider& rider = state.riders[slot];
  SentBatch& batch = state.batches[rider.batch];
  const auto seat = std::ranges::find(batch.members, slot);
  PATERNOSTER_CHECK(seat != batch.members.end());
  *seat = kNoSlot;
  --batch.alive;
  Instance& engine = engine_of(state, batch.instance);
  --engine.stats.requests;
  --state.totals.running;
  if (state.config.choices.between == Between::kKeep) {
    engine.stats.held_tokens -= std::int64_t{rider.length()} + rider.slice_tokens;
  }
  rider.batch = kNoSlot;
  rider.place = Place::kFree;
}

void note_output(State& state, std::int32_t output) {
  state.mean_output_x16 += (std::int64_t{output} * 16 - state.mean_output_x16) / 16;
}

}  // namespace

State::State(const Config& configuration) : config(configuration) {
  const bool knows = config.choices.placement == Placement::kPrefixAware;
  const std::size_t most = knows ? static_cast<std::size_t>(config.limits.known_prefixes) : 0;
  for (std::int32_t at = 0; at < config.limits.instances; ++at) {
    instances.push_back({InstanceStats{}, KnownPrefixes(most)});
  }
  mean_output_x16 = std::int64_t{config.limits.expected_tokens} * 16;
}

Event& emit(State& state, std::int64_t now_ns, EventKind kind, const Rider& rider) {
  Event& event = state.events.emplace_back();
  event.at_ns = now_ns;
  event.kind = kind;
  event.request = rider.id;
  event.batch = rider.last_batch;
  event.instance = rider.instance;
  event.tokens = rider.output;
  event.slices = rider.slices;
  return event;
}

void enter_pool(State& state, Slot slot) {
  Rider& rider = state.riders[slot];
  rider.place = Place::kPool;
  rider.pool_at = static_cast<Slot>(state.pool.size());
  state.pool.push_back(slot);
  if (rider.slices == 0) ++state.totals.queued;
}

void leave_pool(State& state, Slot slot) {
  Rider& rider = state.riders[slot];
  const Slot last = state.pool.back();
  state.pool[rider.pool_at] = last;
  state.riders[last].pool_at = rider.pool_at;
  state.pool.pop_back();
  rider.pool_at = kNoSlot;
  rider.place = Place::kFree;
  if (rider.slices == 0) --state.totals.queued;
}

void finish(State& state, std::int64_t now_ns, Slot slot, FinishReason reason) {
  Rider& rider = state.riders[slot];
  if (rider.place == Place::kBatch) {
    const Slot batch = rider.batch;
    rider.output += rider.slice_output;
    state.totals.tokens_produced += static_cast<std::uint64_t>(rider.slice_output);
    // Promised memory was counted without what is said meanwhile.
    rider.slice_tokens -= rider.slice_output;
    leave_batch(state, slot);
    if (state.batches[batch].alive == 0) close_batch(state, batch);
  } else if (rider.place == Place::kPool) {
    drop_kept(state, slot, false);
    leave_pool(state, slot);
  }
  if (reason == FinishReason::kStop || reason == FinishReason::kLength) note_output(state, rider.output);
  emit(state, now_ns, EventKind::kFinished, rider).finish = reason;
  ++state.totals.requests_finished;
  state.rider_slots.erase(rider.id.value);
  rider.place = Place::kFree;
  rider.prefix.clear();
  state.free_riders.push_back(slot);
}

void close_batch(State& state, Slot slot) {
  SentBatch& batch = state.batches[slot];
  PATERNOSTER_CHECK(batch.alive == 0);
  Instance& engine = engine_of(state, batch.instance);
  engine.stats.load_ns -= batch.estimate_ns;
  --engine.stats.batches;
  --state.totals.batches;
  state.batch_slots.erase(batch.id.value);
  batch.id = BatchId{};
  batch.members.clear();
  state.free_batches.push_back(slot);
}

void end_slice(State& state, std::int64_t now_ns, Slot slot, std::int32_t produced, bool stopped) {
  Rider& rider = state.riders[slot];
  leave_batch(state, slot);
  rider.output += produced;
  rider.slice_output = 0;
  engine_of(state, rider.instance).stats.tokens_produced += static_cast<std::uint64_t>(produced);
  state.totals.tokens_produced += static_cast<std::uint64_t>(produced);
  if (stopped) return finish(state, now_ns, slot, FinishReason::kStop);
  if (rider.remaining() == 0) return finish(state, now_ns, slot, FinishReason::kLength);
  // A slice that says nothing is a failure: it could say nothing for ever.
  rider.failures += produced == 0 ? 1 : 0;
  if (rider.failures > state.config.limits.max_failures) {
    return finish(state, now_ns, slot, FinishReason::kFailed);
  }
  if (state.config.choices.between == Between::kKeep) {
    rider.kept = true;
    engine_of(state, rider.instance).stats.held_tokens += rider.length();
  }
  enter_pool(state, slot);
  emit(state, now_ns, EventKind::kSliceDone, rider);
}

void lose_batch(State& state, std::int64_t now_ns, Slot slot, bool blamed) {
  // By index: what a member's end does to the batch leaves its vector of members as long as it is.
  for (std::size_t at = 0; at < state.batches[slot].members.size(); ++at) {
    const Slot member = state.batches[slot].members[at];
    if (member == kNoSlot) continue;
    leave_batch(state, member);
    Rider& rider = state.riders[member];
    rider.output += rider.slice_output;
    state.totals.tokens_produced += static_cast<std::uint64_t>(rider.slice_output);
    ++state.totals.slices_lost;
    rider.slice_output = 0;
    rider.failures += blamed ? 1 : 0;
    if (rider.remaining() == 0) {
      finish(state, now_ns, member, FinishReason::kLength);
    } else if (rider.failures > state.config.limits.max_failures) {
      finish(state, now_ns, member, FinishReason::kFailed);
    } else {
      enter_pool(state, member);
      emit(state, now_ns, EventKind::kSliceLost, rider);
    }
  }
  close_batch(state, slot);
}

void drop_kept(State& state, Slot slot, bool told) {
  Rider& rider = state.riders[slot];
  if (!rider.kept) return;
  rider.kept = false;
  engine_of(state, rider.instance).stats.held_tokens -= rider.length();
  if (!told) return;
  state.plan.drops.push_back({rider.id, rider.instance});
  ++state.totals.kv_dropped;
}

std::int32_t slice_iterations(const State& state, const Rider& rider) {
  return std::min(state.config.limits.slice_tokens, rider.remaining());
}

std::int32_t expected_iterations(const State& state, const Rider& rider) {
  const std::int32_t most = slice_iterations(state, rider);
  if (state.config.limits.slice_tokens != kWholeRequest) return most;
  const std::int64_t left = state.mean_output_x16 / 16 - rider.output;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(left, 1, most));
}

}  // namespace paternoster::fleet
