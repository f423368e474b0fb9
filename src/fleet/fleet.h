// The second planner: which engine runs which slices of generation next. Requests come into a pool;
// plan() cuts the pool into batches and gives each to an engine; commit() says what a batch came to:
// who has finished leaves, the others return to the pool with what they have said, until the next
// slice. So SCLS (arXiv 2406.13511) schedules static batches over many engines; with whole requests
// as slices and batches of one the same machine is the router in front of engines that batch
// continuously. Pure, like scheduler/: time is an argument, integers only.
//
// Not thread-safe: one driver owns it. A span of events and the Plan stay valid until the next verb
// (the plan: until the next plan). An engine may die with any work on it and come back: what is lost
// returns to the pool with the output that was reported, and what a dead engine says later is passed
// over. docs/fleet.md tells the algorithm and the invariants.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/ids.h"
#include "base/result.h"
#include "fleet/choices.h"
#include "fleet/event.h"
#include "fleet/ids.h"
#include "fleet/plan.h"
#include "fleet/request.h"

namespace paternoster::fleet {

struct State;  // state.h: all that the fleet remembers

enum class InstanceState : std::uint8_t {
  kAlive,     // takes work
  kDraining,  // finishes what it has, takes no more
  kDead,      // what it had is lost
};
const char* to_string(InstanceState state);

// Totals since the start, and counts of this moment.
struct Stats {
  // now
  std::int32_t pool = 0;     // requests that wait for their next slice
  std::int32_t queued = 0;   // of these, never sent: max_queue bounds them
  std::int32_t running = 0;  // requests in some batch
  std::int32_t batches = 0;  // sent and not committed
  // since the start
  std::uint64_t requests_accepted = 0;
  std::uint64_t requests_refused = 0;
  std::uint64_t requests_finished = 0;
  std::uint64_t batches_sent = 0;
  std::uint64_t batches_done = 0;
  std::uint64_t early_returns = 0;   // of these, over before their slice was
  std::uint64_t slices_sent = 0;     // members of batches: slices a request = this / requests
  std::uint64_t slices_lost = 0;
  std::uint64_t tokens_produced = 0;  // valid ones
  std::uint64_t tokens_invalid = 0;   // computed by sequences that had stopped
  std::uint64_t tokens_padded = 0;    // input positions that are nobody's
  std::uint64_t tokens_prefilled = 0;    // input tokens sent to be computed, without padding
  std::uint64_t tokens_reprefilled = 0;  // of these, not for the first time
  std::uint64_t kv_dropped = 0;          // kept KV given up for lack of memory or of its engine
};

struct InstanceStats {
  InstanceState state = InstanceState::kAlive;
  std::int64_t load_ns = 0;         // estimates of its outstanding batches
  std::int32_t batches = 0;         // outstanding
  std::int32_t requests = 0;        // in them
  std::int64_t held_tokens = 0;     // KV kept or promised (Between::kKeep)
  std::uint64_t batches_done = 0;
  std::uint64_t requests_sent = 0;
  std::uint64_t tokens_produced = 0;
  std::int64_t estimated_ns = 0;    // of batches done, as it was estimated
  std::int64_t last_done_ns = -1;   // when its last batch was committed: its completion time
};

class Fleet {
 public:
  static Result<Fleet> create(const Config& config);

  Fleet(Fleet&&) noexcept;
  Fleet& operator=(Fleet&&) noexcept;
  ~Fleet();

  // ---- the five verbs

  // Takes the request up or refuses it at once: kAccepted or kRefused.
  std::span<const Event> submit(std::int64_t now_ns, Request request);

  // Ends the request now, wherever it is; nothing if it is not live. A batch all of whose members
  // are cancelled is over without a commit: the driver stops it on its engine.
  std::span<const Event> cancel(std::int64_t now_ns, RequestId request);

  // Decides what is sent now. Call it after other verbs, and when Plan::next_ns has come.
  const Plan& plan(std::int64_t now_ns);

  // A batch has ended. Passed over if the fleet knows no such batch (its engine was given up).
  std::span<const Event> commit(std::int64_t now_ns, const SliceResult& result);

  // From now on submit refuses; what was accepted is finished. Never undone.
  void drain();

  // The estimates of batches placed from now on go by this; the load of those placed stays as it is.
  Result<void> set_time(const TimeModel& time);

  // ---- what happens to engines

  // Output of the slice under way so far, which would be kept if its engine died: for drivers that
  // stream. Only grows; passed over if the request is in no batch.
  void progress(RequestId request, std::int32_t produced);

  // One batch failed although its engine lives: kSliceLost or kFinished for each member.
  std::span<const Event> lose(std::int64_t now_ns, BatchId batch);

  // All transitions are allowed. kDead loses every batch on it, and the KV that it kept.
  std::span<const Event> set_instance(std::int64_t now_ns, InstanceId instance, InstanceState state);

  // ---- reading

  const Config& config() const;
  Stats stats() const;
  InstanceStats stats(InstanceId instance) const;
  bool live(RequestId request) const;
  bool idle() const;  // nothing is live
  bool draining() const;
  const Plan& last_plan() const;

  const State& state() const { return *state_; }  // for check.h and tests only

 private:
  explicit Fleet(const Config& config);

  std::unique_ptr<State> state_;
};

}  // namespace paternoster::fleet
