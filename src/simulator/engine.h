// One engine under virtual time: the very Scheduler that serves, and a step model in the place of the
// processors. Its driver calls begin_step and, at the time that came back, end_step; submit and cancel
// may come between.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cost/step_model.h"
#include "scheduler/check.h"
#include "scheduler/scheduler.h"
#include "simulator/flights.h"

namespace paternoster::simulator {

// Carries out plans by knowing how long answers are (scheduler/executor.h).
class VirtualExecutor {
 public:
  explicit VirtualExecutor(Flights& flights) : flights_(flights) {}
  void execute(const scheduler::Plan& plan, scheduler::StepResult& result);

 private:
  Flights& flights_;
};
static_assert(scheduler::Executor<VirtualExecutor>);

class Engine {
 public:
  Engine(scheduler::Scheduler&& scheduler, const cost::StepModel& model, Flights& flights, bool checks);

  std::span<const scheduler::Event> submit(std::int64_t now_ns, scheduler::Request request);
  std::span<const scheduler::Event> cancel(std::int64_t now_ns, RequestId request);

  // Plans. The time at which the step ends, or nothing: then there is nothing to do; whoever was dropped
  // in deciding that is told by settle(), which must follow.
  std::optional<std::int64_t> begin_step(std::int64_t now_ns);
  std::span<const scheduler::Event> end_step(std::int64_t now_ns);
  std::span<const scheduler::Event> settle(std::int64_t now_ns);
  // After settle(): when to begin a step though nobody comes; 0: never.
  std::int64_t again_ns() const { return scheduler_.last_plan().again_ns; }
  bool stepping() const { return scheduler_.in_flight(); }

  // All times x percent / 100 from the next step on: an engine that slows down.
  void set_pace(std::int64_t percent) { pace_percent_ = percent; }
  const cost::StepLoad& load() const { return load_; }  // of the step on its way
  std::size_t sampled() const { return result_.outcomes.size(); }  // tokens, in it
  scheduler::Scheduler& scheduler() { return scheduler_; }
  const scheduler::Scheduler& scheduler() const { return scheduler_; }

 private:
  void check() const;

  scheduler::Scheduler scheduler_;
  const cost::StepModel& model_;
  VirtualExecutor executor_;
  scheduler::StepResult result_;
  cost::StepLoad load_;
  std::int64_t pace_percent_ = 100;
  bool checks_;
  scheduler::Ledger ledger_;
};

}  // namespace paternoster::simulator
