// Drives scheduler and executor without threads, sockets or text: what benchmarks and the invariance
// tests share. Everything a run needs, made from one model.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/kv_cache.h"
#include "engine/native_executor.h"
#include "engine/packed_model.h"
#include "scheduler/scheduler.h"

namespace paternoster::engine {

// One choice's outcome.
struct DrivenChoice {
  std::vector<TokenId> tokens;
  std::vector<Drawn> drawn;
  bool said_all = false;
};

// What one step did, for whoever times it.
struct DrivenStep {
  std::int64_t plan_ns = 0;
  std::int64_t execute_ns = 0;
  std::int64_t commit_ns = 0;
  std::size_t sequences = 0;
  std::size_t tokens = 0;
  std::size_t drawn = 0;
  bool only_decodes = false;
};

class Drive {
 public:
  // model and pool must outlive this object.
  Drive(const PackedModel& model, ThreadPool& pool, const scheduler::Config& config,
        kernels::KvType kv_type = kernels::KvType::kF16, std::unique_ptr<SwapFile> swap_file = nullptr);

  // Returns the number under which choices(number) gives the outcome.
  std::uint64_t submit(std::shared_ptr<RequestNumbers> numbers, std::int32_t max_tokens,
                       std::int32_t choices = 1);
  // One plan, carried out. False when there was nothing to do.
  bool step(DrivenStep& step);
  void run();

  const std::vector<DrivenChoice>& choices(std::uint64_t request) const { return outcomes_[request]; }
  scheduler::Scheduler& scheduler() { return scheduler_; }
  NativeExecutor& executor() { return executor_; }

 private:
  void take(std::span<const scheduler::Event> events);

  KvCache cache_;
  NativeExecutor executor_;
  scheduler::Scheduler scheduler_;
  scheduler::StepResult result_;
  std::vector<std::shared_ptr<RequestNumbers>> numbers_;
  std::deque<std::vector<DrivenChoice>> outcomes_;  // a deque: by_sequence_ points into it
  std::unordered_map<SequenceId, DrivenChoice*> by_sequence_;
};

}  // namespace paternoster::engine
