// The engine's one thread: inbox -> submit and cancel -> plan -> execute -> text -> commit -> outlet.
//
// A call becomes a request of the scheduler with the same number. Between two steps the loop reads
// everything in its inbox, so a cancelled call costs nothing from the next step on, in whatever phase.
// What other threads want to know is in atomics: they never wait for a step.
#pragma once

#include <atomic>
#include <cstdint>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "api/backend.h"
#include "engine/call_book.h"
#include "engine/clock.h"
#include "engine/inbox.h"
#include "engine/live_view.h"
#include "engine/native_executor.h"
#include "engine/options.h"
#include "engine/step_calibrator.h"
#include "engine/stuck_watch.h"
#include "engine/tenant_book.h"
#include "engine/trace_file.h"
#include "scheduler/check.h"
#include "scheduler/journal.h"
#include "scheduler/scheduler.h"

namespace paternoster::engine {

struct RefuseCall {
  api::CallId call;
  api::ApiError error;
  scheduler::Refusal refusal;  // the nearest word the metrics have
};
// What the preparer found wrong.
RefuseCall refusal_of(api::CallId call, api::ApiError&& error);
// That the queue is full, and when to come back, as far as `metrics` (which may be null) know.
api::ApiError full_queue(const measure::ServingMetrics* metrics);
struct CancelCall {
  api::CallId call;
};
// Ends the call with what it has.
struct StopCall {
  api::CallId call;
};
struct ListRequests {
  std::vector<api::RequestStatus> unread;  // calls that have not reached the loop
};
struct DrainNow {};
struct LookAgain {};  // somebody has begun to watch
using LoopMessage = std::variant<PreparedCall, RefuseCall, CancelCall, StopCall, ListRequests, DrainNow, LookAgain>;

// What the loop writes as it goes; null: not wished for.
struct LoopFiles {
  std::unique_ptr<std::ofstream> journal;
  std::unique_ptr<std::ofstream> step_log;
  std::unique_ptr<TraceFile> trace;
};
// The error names the file that cannot be written.
Result<LoopFiles> open_files(const EngineOptions& options);

class EngineLoop {
 public:
  // All references must outlive the loop; `executor` is used by its thread alone from now on.
  EngineLoop(scheduler::Scheduler&& scheduler, NativeExecutor& executor, const text::Tokenizer& tokenizer,
             const EngineOptions& options, LoopFiles&& files, std::int32_t engine);
  ~EngineLoop();
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;

  void send(LoopMessage message) { inbox_.push(std::move(message)); }
  void attach(api::Outlet* outlet);
  void watch(bool on);

  // Since when there has been work without a step's end. None: nothing to do.
  std::optional<std::int64_t> busy_since_ns() const noexcept {
    const std::int64_t since_ns = busy_since_ns_.load(std::memory_order_relaxed);
    return since_ns < 0 ? std::nullopt : std::optional(since_ns);
  }
  std::int64_t last_step_ns() const noexcept { return last_step_ns_.load(std::memory_order_relaxed); }
  std::int32_t running() const noexcept { return running_.load(std::memory_order_relaxed); }
  std::int32_t waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }
  // What a step costs as measured lately, with EngineOptions::learns_cost. None: not known yet.
  std::optional<scheduler::CostModel> learnt_cost() const;
  std::int32_t queued() const noexcept { return queued_.load(std::memory_order_relaxed); }

 private:
  void run();
  void handle(PreparedCall& call);
  void handle(RefuseCall& refusal);
  void handle(CancelCall& cancel);
  void handle(StopCall& stop);
  void handle(ListRequests& asked);
  void handle(DrainNow&);
  void handle(LookAgain&) { frame_wanted_ = true; }
  api::ApiError error_of(const scheduler::Event& event) const;
  void tell(std::span<const scheduler::Event> events);
  std::optional<std::chrono::steady_clock::time_point> wake_time() const;
  TenantId tenant_of(const api::Standing& standing, std::int64_t now_ns);
  std::optional<std::int64_t> wait_ns(const scheduler::Stats& stats, std::int32_t ahead) const;
  bool step();
  void calibrate(const scheduler::Plan& plan, std::int64_t step_ns, std::int64_t now_ns);
  void look_for_stuck(std::int64_t now_ns);
  void publish(std::int64_t step_ns, std::int64_t kernel_ns, const scheduler::Plan* plan);
  void log_step(std::int64_t begin_ns, std::int64_t step_ns, const scheduler::Plan* plan);
  void write_journal(bool quiet);
  void measure_step(std::int64_t step_ns, std::int64_t kernel_ns, const scheduler::Plan* plan,
                    const scheduler::Stats& stats);
  void deliver(std::int64_t step_ns, const scheduler::Plan* plan);
  void check_invariants();

  scheduler::Scheduler scheduler_;
  NativeExecutor& executor_;
  CallBook calls_;
  measure::ServingMetrics* metrics_;
  std::int32_t engine_;  // its number among those of this process
  std::int32_t max_len_;
  bool checks_;
  bool learns_cost_;
  mutable std::mutex cost_mutex_;
  std::optional<scheduler::CostModel> learnt_cost_;  // guarded by cost_mutex_
  scheduler::Ledger ledger_;
  scheduler::Journal journal_;
  std::string step_lines_;  // on their way to the step log
  LoopFiles files_;
  TenantBook tenants_;
  StepCalibrator calibrator_;
  StuckWatch stuck_;
  scheduler::StepResult result_;
  std::uint64_t accepted_before_ = 0;  // Stats::tokens_accepted, as far as the metrics have it
  LiveView live_;
  bool frame_wanted_ = false;

  Inbox<LoopMessage> inbox_;
  std::mutex outlet_mutex_;
  api::Outlet* outlet_ = nullptr;  // guarded by outlet_mutex_
  std::atomic<bool> watching_{false};
  std::atomic<std::int64_t> last_step_ns_{-1};
  std::atomic<std::int64_t> busy_since_ns_{-1};
  std::atomic<std::int32_t> running_{0};
  std::atomic<std::int32_t> waiting_{0};
  std::atomic<std::int32_t> queued_{0};
  std::thread thread_;
};

}  // namespace paternoster::engine
