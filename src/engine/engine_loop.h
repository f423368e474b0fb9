// The engine's one thread: inbox -> submit and cancel -> plan -> execute -> text -> commit -> outlet.
//
// A call becomes a request of the scheduler with the same number. Between two steps the loop reads
// everything in its inbox, so a cancelled call costs nothing from the next step on, in whatever phase.
// What other threads want to know is in atomics: they never wait for a step.
#pragma once

#include <atomic>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "api/backend.h"
#include "engine/call_book.h"
#include "engine/inbox.h"
#include "engine/live_view.h"
#include "engine/native_executor.h"
#include "engine/options.h"
#include "scheduler/check.h"
#include "scheduler/journal.h"
#include "scheduler/scheduler.h"

namespace paternoster::engine {

struct RefuseCall {
  api::CallId call;
  api::ApiError error;
  scheduler::Refusal refusal;  // the nearest word the metrics have
};
struct CancelCall {
  api::CallId call;
};
struct DrainNow {};
struct LookAgain {};  // somebody has begun to watch
using LoopMessage = std::variant<PreparedCall, RefuseCall, CancelCall, DrainNow, LookAgain>;

class EngineLoop {
 public:
  // All references must outlive the loop; `executor` is used by its thread alone from now on.
  EngineLoop(scheduler::Scheduler&& scheduler, NativeExecutor& executor, const text::Tokenizer& tokenizer,
             const EngineOptions& options);
  ~EngineLoop();
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;

  void send(LoopMessage message) { inbox_.push(std::move(message)); }
  void attach(api::Outlet* outlet);
  void watch(bool on);

  std::int64_t last_step_ns() const noexcept { return last_step_ns_.load(std::memory_order_relaxed); }
  std::int32_t running() const noexcept { return running_.load(std::memory_order_relaxed); }
  std::int32_t waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }
  std::int32_t queued() const noexcept { return queued_.load(std::memory_order_relaxed); }

 private:
  void run();
  void handle(PreparedCall& call);
  void handle(RefuseCall& refusal);
  void handle(CancelCall& cancel);
  void handle(DrainNow&);
  void handle(LookAgain&) { frame_wanted_ = true; }
  api::ApiError error_of(const scheduler::Event& event) const;
  void tell(std::span<const scheduler::Event> events);
  std::optional<std::chrono::steady_clock::time_point> wake_time() const;
  bool step();
  // kernel_ns: of the step, spent in the forward pass and in drawing tokens.
  void publish(std::int64_t step_ns, std::int64_t kernel_ns, const scheduler::Plan* plan);
  void log_step(std::int64_t begin_ns, std::int64_t step_ns, const scheduler::Plan* plan);
  void deliver(std::int64_t step_ns, const scheduler::Plan* plan);
  void check_invariants();

  scheduler::Scheduler scheduler_;
  NativeExecutor& executor_;
  CallBook calls_;
  measure::ServingMetrics* metrics_;
  std::int32_t max_len_;
  bool checks_;
  scheduler::Ledger ledger_;
  scheduler::Journal journal_;
  std::ofstream journal_file_;
  std::ofstream step_log_;
  std::string step_lines_;  // on their way to it
  scheduler::StepResult result_;
  LiveView live_;
  bool frame_wanted_ = false;

  Inbox<LoopMessage> inbox_;
  std::mutex outlet_mutex_;
  api::Outlet* outlet_ = nullptr;  // guarded by outlet_mutex_
  std::atomic<bool> watching_{false};
  std::atomic<std::int64_t> last_step_ns_{-1};
  std::atomic<std::int32_t> running_{0};
  std::atomic<std::int32_t> waiting_{0};
  std::atomic<std::int32_t> queued_{0};
  std::thread thread_;
};

// The steady clock, in nanoseconds.
std::int64_t now_ns();

}  // namespace paternoster::engine
