// Learns from the steps that were made what a step costs, for choices that weigh time (prefill
// latency_target, orders shortest and deadline): the last kKept steps fitted by least squares (cost/fit.h),
// first after kFirst steps, then every kEvery. A fit that explains too little changes nothing. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cost/step_log.h"
#include "scheduler/choices.h"
#include "scheduler/plan.h"

namespace paternoster::engine {

class StepCalibrator {
 public:
  static constexpr std::size_t kKept = 512;
  static constexpr std::size_t kFirst = 32;
  static constexpr std::size_t kEvery = 64;

  // Whether any of these choices goes by the cost model.
  static bool is_read_by(const scheduler::Choices& choices);

  // After each step. The model to go by from now on, when there is a new one; what cannot be learnt from
  // steps (swapping) stays as in `current`.
  std::optional<scheduler::CostModel> take(const scheduler::Plan& plan, std::int64_t step_ns,
                                           const scheduler::CostModel& current);

 private:
  std::vector<cost::TimedStep> steps_;  // a ring once it is full
  std::size_t taken_ = 0;
};

}  // namespace paternoster::engine
