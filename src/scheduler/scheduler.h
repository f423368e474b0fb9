// The machine: who rides in the next iteration. Events in (submit, cancel), plan out, result in
// (commit), events out. Pure: no clock (time is an argument), thread, lock, log, I/O or floating
// point, so the same calls give the same plans on every machine, which is what the journal replays
// and the simulator trusts.
//
// Not thread-safe: one driver owns it. A span of events and the Plan stay valid until the next verb
// (the plan: until the next plan). Calls in a wrong order, or outcomes that do not belong to the
// plan, are bugs of the driver and abort; whatever a request contains is answered by a Refused
// event.
//
// Cost: plan + commit is O(sequences that run, board, leave or change); nothing is allocated once
// the capacity is warm. docs/scheduling.md tells the algorithm in numbered steps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "scheduler/choices.h"
#include "scheduler/event.h"
#include "scheduler/executor.h"
#include "scheduler/plan.h"
#include "scheduler/request.h"

namespace paternoster::scheduler {

class Journal;
struct State;  // state.h: all that the scheduler remembers

// Totals since the start, and counts of this moment.
struct Stats {
  // now
  std::int32_t running = 0;  // sequences with a seat
  std::int32_t waiting = 0;  // sequences without one, preempted and parked ones included
  std::int32_t parked = 0;   // of those, waiting for a sibling's prefill
  // Requests none of whose sequences ever had a seat: max_queue bounds these.
  std::int32_t queued_requests = 0;
  std::int32_t live_requests = 0;
  std::int32_t blocks_total = 0;
  std::int32_t blocks_used = 0;      // in some block table
  std::int32_t blocks_cached = 0;    // free, but their content can still be shared
  std::int32_t blocks_free = 0;      // free and empty
  std::int32_t swap_blocks_total = 0;
  std::int32_t swap_blocks_used = 0;
  std::int32_t blocks_reserved = 0;  // of cached and free, promised to running sequences
  // Sequences by WaitReason, as of the last plan.
  std::int32_t waiting_by_reason[kWaitReasons] = {};
  // since the start
  std::uint64_t steps = 0;
  std::uint64_t requests_accepted = 0;
  std::uint64_t requests_refused = 0;
  std::uint64_t requests_finished = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t tokens_planned = 0;     // computed, again or not
  std::uint64_t tokens_recomputed = 0;  // computed again after a preemption
  std::uint64_t tokens_sampled = 0;
  std::uint64_t tokens_drafted = 0;   // of those planned, guesses (speculation)
  std::uint64_t tokens_accepted = 0;  // of those sampled, guessed right and thus drawn without a step
  std::uint64_t tokens_invalid = 0;  // sampled after a sequence's end (boarding static_global)
  std::uint64_t slices = 0;          // returns to the pool at a slice's end
  std::uint64_t prefix_queried = 0;  // tokens looked up when boarding
  std::uint64_t prefix_hits = 0;     // of those, found in the cache
  std::uint64_t tokens_forked = 0;   // prompt tokens shared with a sibling
  std::uint64_t blocks_copied = 0;
  std::uint64_t blocks_swapped_out = 0;
  std::uint64_t blocks_swapped_in = 0;
};

class Scheduler {
 public:
  static Result<Scheduler> create(const Config& config);

  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;
  ~Scheduler();

  // ---- the five verbs

  // Takes the request up or refuses it at once: kAccepted or kRefused.
  std::span<const Event> submit(std::int64_t now_ns, Request request);

  // Ends every sequence of the request now, in whatever phase; nothing if it is not live. Blocks
  // are free for the next plan. If the plan in flight computes some of it, commit passes over that.
  std::span<const Event> cancel(std::int64_t now_ns, RequestId request);

  // Decides the next iteration. What happens in deciding (kAdmitted, kPreempted) is stamped with
  // this time and comes first among the events of the next verb that returns any. A plan that is
  // not empty must be committed before the next.
  const Plan& plan(std::int64_t now_ns);

  // The plan was carried out. Tokens, ends, and what the plan had to tell.
  std::span<const Event> commit(std::int64_t now_ns, const StepResult& result);

  // From now on submit refuses; what was accepted is finished. Never undone.
  void drain();

  // ---- what drivers learn on the way

  // What steps take, as measured: orders and prefills that weigh time go by it from now on. The
  // error names the coefficient out of range; then nothing has changed.
  Result<void> calibrate(std::int64_t now_ns, const CostModel& cost);

  // The tenant's share under order `fair`, from 1 to 1000; others have 10. It outlives its requests.
  Result<void> set_weight(std::int64_t now_ns, TenantId tenant, std::int32_t weight);

  // ---- for tests and journals

  // Takes the seat of a running sequence as if blocks had run short. False if it does not run. Not
  // between plan and commit. Does not count towards protection.
  bool force_preempt(std::int64_t now_ns, SequenceId sequence);

  // Every verb from now on is also written to `journal` (journal.h); nullptr stops.
  void record_to(Journal* journal);

  // ---- reading

  const Config& config() const;
  Stats stats() const;
  bool live(RequestId request) const;
  bool idle() const;       // nothing is live
  bool draining() const;   // drained when also idle
  bool in_flight() const;  // a plan waits for its commit
  const Plan& last_plan() const;
  // The running sequences in admission order.
  void list_running(std::vector<SequenceId>& out) const;
  // Everyone without a token in the last plan and why, in no particular order. O(waiting): for
  // feeds.
  void list_waiting(std::vector<Waiting>& out) const;
  // Blocks that a request of this size needs in the worst case, a sequence.
  static std::int32_t worst_blocks(const Limits& limits, std::int64_t prompt,
                                   std::int64_t max_tokens);

  // An equal scheduler that goes its own way from here: what would happen if. It writes no journal.
  Scheduler fork() const;

  const State& state() const { return *state_; }  // for check.h and tests only

 private:
  explicit Scheduler(const Config& config);

  std::unique_ptr<State> state_;
};

}  // namespace paternoster::scheduler
