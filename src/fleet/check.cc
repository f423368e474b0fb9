#include "fleet/check.h"

#include <algorithm>
#include <vector>

#include "fleet/state.h"

namespace paternoster::fleet {
namespace {

class Checker {
 public:
  explicit Checker(const State& state) : state_(state) {}

  std::optional<Violation> run() {
    check_places();
    check_batches();
    check_engines();
    check_lengths();
    return violation_;
  }

 private:
  void require(bool holds, int number, const char* what, std::uint64_t id) {
    if (holds || violation_) return;
    violation_ = Violation{number, std::string(what) + " (" + std::to_string(id) + ")"};
  }

  bool keeps() const { return state_.config.choices.between == Between::kKeep; }

  // 1: who is live is in exactly one place: the pool, or one seat of one batch. 2: all are counted.
  void check_places() {
    std::vector<int> seats(state_.riders.size());
    for (const SentBatch& batch : state_.batches) {
      for (const Slot member : batch.members) {
        if (member != kNoSlot) ++seats[member];
      }
    }
    std::size_t live = 0;
    std::int32_t queued = 0;
    std::int32_t running = 0;
    for (Slot slot = 0; slot < state_.riders.size(); ++slot) {
      const Rider& rider = state_.riders[slot];
      const bool pooled = rider.place == Place::kPool;
      const bool seated = rider.place == Place::kBatch;
      require(seats[slot] == (seated ? 1 : 0), 1, "a seat each", rider.id.value);
      if (rider.place == Place::kFree) continue;
      ++live;
      require(!pooled || (rider.pool_at < state_.pool.size() && state_.pool[rider.pool_at] == slot), 1,
              "the pool knows who is in it", rider.id.value);
      require(!seated || state_.batches[rider.batch].id == rider.last_batch, 1, "a batch knows its members",
              rider.id.value);
      const Slot* found = state_.rider_slots.find(rider.id.value);
      require(found != nullptr && *found == slot, 1, "who is live is found", rider.id.value);
      queued += pooled && rider.slices == 0 ? 1 : 0;
      running += seated ? 1 : 0;
    }
    require(live == state_.rider_slots.size(), 2, "live requests are counted", live);
    require(live == state_.pool.size() + static_cast<std::size_t>(running), 2, "pool and batches are all", live);
    require(queued == state_.totals.queued && running == state_.totals.running, 2, "queued and running", live);
    require(state_.totals.requests_accepted == state_.totals.requests_finished + live, 2,
            "accepted = finished + live", live);
  }

  // 3: a batch is no larger than may be, has somebody in it, and runs on an engine that is not dead.
  void check_batches() {
    std::size_t sent = 0;
    for (const SentBatch& batch : state_.batches) {
      if (batch.id.value == 0) continue;
      ++sent;
      const std::int64_t most =
          state_.config.choices.batching == Batching::kSolo ? 1 : state_.config.limits.max_batch;
      require(std::ssize(batch.members) <= most, 3, "a batch is not too large", batch.id.value);
      require(batch.alive == std::ssize(batch.members) - std::ranges::count(batch.members, kNoSlot) &&
                  batch.alive > 0,
              3, "a batch counts who is in it", batch.id.value);
      require(state_.instances[batch.instance.value].stats.state != InstanceState::kDead, 3,
              "nothing runs on the dead", batch.id.value);
      require(batch.iterations >= 1 && batch.iterations <= state_.config.limits.slice_tokens, 3,
              "a slice's length", batch.id.value);
    }
    require(sent == state_.batch_slots.size() && static_cast<std::int32_t>(sent) == state_.totals.batches, 3,
            "batches are counted", sent);
  }

  // 4: an engine's load is the sum of the estimates of its batches. 5: kept and promised KV is
  // counted, and fits.
  void check_engines() {
    std::vector<InstanceStats> sums(state_.instances.size());
    for (const SentBatch& batch : state_.batches) {
      if (batch.id.value == 0) continue;
      InstanceStats& sum = sums[batch.instance.value];
      sum.load_ns += batch.estimate_ns;
      ++sum.batches;
      sum.requests += batch.alive;
    }
    for (const Rider& rider : state_.riders) {
      if (!keeps() || rider.place == Place::kFree) continue;
      require(!rider.kept || rider.place == Place::kPool, 5, "kept is who waits", rider.id.value);
      if (rider.kept) sums[rider.instance.value].held_tokens += rider.length();
      if (rider.place == Place::kBatch) {
        sums[rider.instance.value].held_tokens += std::int64_t{rider.length()} + rider.slice_tokens;
      }
    }
    for (std::size_t at = 0; at < sums.size(); ++at) {
      const InstanceStats& stats = state_.instances[at].stats;
      require(stats.load_ns == sums[at].load_ns && stats.batches == sums[at].batches &&
                  stats.requests == sums[at].requests,
              4, "load is the sum of what was sent", at);
      require(stats.held_tokens == sums[at].held_tokens, 5, "held KV is counted", at);
      require(!keeps() || stats.held_tokens <= state_.config.memory.kv_tokens, 5, "held KV fits", at);
    }
  }

  // 6: who is live has said less than it may; a slice never more than is left. 7: who has lost too
  // many slices is gone.
  void check_lengths() {
    for (const Rider& rider : state_.riders) {
      if (rider.place == Place::kFree) continue;
      require(rider.output < rider.max_tokens, 6, "output stays below its limit while live", rider.id.value);
      if (rider.place == Place::kBatch) {
        require(rider.slice_tokens >= 1 && rider.slice_tokens <= rider.remaining() &&
                    rider.slice_output <= rider.slice_tokens,
                6, "a slice is no longer than what is left", rider.id.value);
      }
      require(rider.failures <= state_.config.limits.max_failures, 7, "failures are bounded", rider.id.value);
    }
  }

  const State& state_;
  std::optional<Violation> violation_;
};

}  // namespace

std::optional<Violation> check(const Fleet& fleet) { return Checker(fleet.state()).run(); }

}  // namespace paternoster::fleet
