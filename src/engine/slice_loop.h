// Slice-level scheduling over the engines of one process, as SCLS has it (arXiv 2406.13511): calls wait in
// the fleet's pool, are cut into batches of slices and given to engines; who is not done comes back and
// goes on wherever the fleet says. The policy is src/fleet's, which the simulator drives too; here are the
// clock, the thread and the messages.
//
// A slice is a call of an engine: the prompt, what has been said so far, and a limit of new tokens
// (PreparedCall::slice_tokens). Random numbers depend on seed, choice and position alone, penalties and
// text are made again from what was said, so nothing of a slice's place can be seen in the answer. Keys
// and values of ended slices stay in their engine's prefix cache as long as there is room: a slice that
// goes on where the last one was computes little anew.
//
// Batches of one engine run one after the other; where engines batch for themselves (Batching::kSolo) all
// at once. Everything of a slice loop happens on its thread; others send messages.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "engine/engine_loop.h"
#include "engine/inbox.h"
#include "engine/slice_book.h"
#include "engine/slice_engine.h"
#include "engine/together.h"
#include "fleet/fleet.h"

namespace paternoster::engine {

struct SlicesTold {
  std::vector<api::BackendEvent> events;
};
struct EngineFrame {
  std::size_t engine;
  api::LiveFrame frame;
};
using SliceMessage = std::variant<PreparedCall, RefuseCall, CancelCall, StopCall, ListRequests, DrainNow,
                                  SlicesTold, EngineFrame, LookAgain>;

class SliceLoop {
 public:
  // Engines, tokenizer and metrics (which may be null) must outlive the loop. `most_waiting`: calls whose
  // first token has not come; more are refused.
  SliceLoop(std::vector<SliceEngine*> engines, const text::Tokenizer& tokenizer, fleet::Fleet&& fleet,
            measure::ServingMetrics* metrics, std::int32_t most_waiting);
  ~SliceLoop();
  SliceLoop(const SliceLoop&) = delete;
  SliceLoop& operator=(const SliceLoop&) = delete;

  void send(SliceMessage message) { inbox_.push(std::move(message)); }
  // Of a new call. Calls and riders are numbered in one row: what an engine tells of a rider is nothing to whoever
  // knows calls, such as the metrics.
  api::CallId next_call() { return api::CallId{++last_number_}; }
  void attach(api::Outlet* outlet);
  void watch(bool on) { watching_.store(on, std::memory_order_relaxed); }

  // Riders that no engine has.
  std::int32_t waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }
  fleet::Stats stats() const;  // as of the last turn; for tests and the log

 private:
  // One batch on its way through an engine.
  struct Seat {
    RequestId rider;
    std::int32_t most_tokens = 0;
    std::int32_t produced = 0;
    bool stopped = false;
    bool gone = false;  // cancelled
  };
  struct Sent {
    std::size_t engine = 0;
    std::vector<Seat> seats;  // in the plan's order
    std::size_t open = 0;     // seats that may still tell something
    bool given = false;       // the engine has it
  };

  void run();
  void handle(PreparedCall& call);
  void handle(RefuseCall& refusal);
  void handle(CancelCall& cancel);
  void handle(StopCall& stop);
  void handle(ListRequests& asked);
  void handle(DrainNow&) { fleet_.drain(); }
  void handle(SlicesTold& told);
  void handle(EngineFrame& frame);
  void handle(LookAgain&) { frame_wanted_ = true; }
  void hear(api::Accepted&) {}
  void hear(api::Delta& delta);
  void hear(api::Finished& finished);
  void hear(api::Done& done);
  void hear(api::Refused& refused);

  std::optional<api::ApiError> submit(SliceBook::Call& call);
  api::ApiError error_of(fleet::Refusal refusal, const SliceBook::Call& call) const;
  void dispatch();
  void queue(const fleet::Plan& plan);
  void start(std::size_t engine);
  void give(Sent& sent);
  void settle(RequestId rider, std::int32_t produced, bool stopped);
  void leave(RequestId rider);
  void close_seat(fleet::BatchId batch);
  void leave_all(SliceBook::Call& call);
  void refuse(SliceBook::Call& call, api::ApiError&& error, scheduler::FinishReason why);
  void refuse_late();
  bool is_late(const SliceBook::Call& call) const;
  void look_at_deadline(const SliceBook::Call& call);
  void learn_cost(std::size_t engine);
  void publish();
  void deliver();
  void add_waiting(api::LiveFrame& frame) const;
  api::RequestStatus status_of(const SliceBook::Call& call) const;
  std::optional<std::chrono::steady_clock::time_point> wake_time() const;
  const char* reason() const;

  std::vector<SliceEngine*> engines_;
  fleet::Fleet fleet_;
  SliceBook book_;
  measure::ServingMetrics* metrics_;
  std::int32_t most_waiting_;
  bool one_by_one_;  // an engine runs one batch at a time
  std::int64_t now_ns_ = 0;  // of this turn
  std::atomic<std::uint64_t> last_number_{0};
  std::unordered_map<fleet::BatchId, Sent> sent_;
  std::unordered_map<RequestId, fleet::BatchId> batch_of_;
  std::vector<std::deque<fleet::BatchId>> lanes_;  // of each engine: not ended, in the order of plans
  std::int64_t next_deadline_ns_ = INT64_MAX;
  std::int64_t mean_prompt_ = 256;
  FrameBoard board_;
  bool frame_wanted_ = false;

  Inbox<SliceMessage> inbox_;
  std::mutex outlet_mutex_;
  api::Outlet* outlet_ = nullptr;  // guarded by outlet_mutex_
  std::atomic<bool> watching_{false};
  std::atomic<std::int32_t> waiting_{0};
  mutable std::mutex stats_mutex_;
  fleet::Stats stats_;  // guarded by stats_mutex_
  std::thread thread_;
};

}  // namespace paternoster::engine
