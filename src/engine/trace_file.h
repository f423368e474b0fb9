// `--trace FILE`: what the engine did and who waited, in Chrome's trace format, for Perfetto
// (ui.perfetto.dev) or chrome://tracing.
//
// One track has the steps; each sequence has one of its own with its spans: queue (with the reason why
// it waits, as it changes), prefill, decode, preempted. Counters: KV blocks, sequences that run and wait.
// The array is never closed, which the format allows, so that a killed server leaves a good file. Ends
// by itself at kMostBytes. One thread, the engine's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/call_book.h"
#include "scheduler/event.h"
#include "scheduler/plan.h"
#include "scheduler/scheduler.h"

namespace paternoster::engine {

class TraceFile {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

  static Result<std::unique_ptr<TraceFile>> create(const std::filesystem::path& file);

  // Before `calls` takes the same events.
  void take(std::span<const scheduler::Event> events, const CallBook& calls);
  // After each step, and after each look at the queue that came to nothing (plan empty).
  void step(std::int64_t begin_ns, std::int64_t end_ns, const scheduler::Plan& plan,
            const scheduler::Scheduler& scheduler);
  void flush() { file_.flush(); }

 private:
  struct Rider {
    std::string name;               // of its track
    const char* span = nullptr;     // what it is in
    std::int64_t since_ns = 0;
    scheduler::WaitReason reason = scheduler::WaitReason::kNone;
  };

  explicit TraceFile(std::ofstream&& file);
  void take(const scheduler::Event& event, const CallBook& calls);
  void enter(SequenceId sequence, const char* span, std::int64_t now_ns);
  void leave(SequenceId sequence, std::int64_t now_ns);
  void note_reasons(std::int64_t now_ns, const scheduler::Scheduler& scheduler);
  void write_counters(std::int64_t now_ns, const scheduler::Stats& stats);
  void write(std::string&& event);

  std::ofstream file_;
  std::uint64_t bytes_ = 0;
  bool first_ = true;
  std::unordered_map<SequenceId, Rider> riders_;
  std::vector<scheduler::Waiting> waiting_;
};

}  // namespace paternoster::engine
