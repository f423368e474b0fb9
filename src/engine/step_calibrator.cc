#include "engine/step_calibrator.h"

#include "cost/fit.h"
#include "cost/step_model.h"

namespace paternoster::engine {

bool StepCalibrator::is_read_by(const scheduler::Choices& choices) {
  return choices.prefill == scheduler::Prefill::kLatencyTarget || choices.order == scheduler::Order::kShortest ||
         choices.order == scheduler::Order::kDeadline || choices.order == scheduler::Order::kMultilevel ||
         choices.speculation != scheduler::Speculation::kOff;
}

std::optional<scheduler::CostModel> StepCalibrator::take(const scheduler::Plan& plan, std::int64_t step_ns,
                                                         const scheduler::CostModel& current) {
  cost::TimedStep step;
  step.step_ns = step_ns;
  step.load = cost::load_of(plan);
  if (steps_.size() < kKept) {
    steps_.push_back(step);
  } else {
    steps_[taken_ % kKept] = step;
  }
  ++taken_;
  if (taken_ < kFirst || (taken_ - kFirst) % kEvery != 0) return std::nullopt;
  const auto fit = cost::fit_steps(steps_);
  if (!fit) return std::nullopt;
  return cost::scheduler_cost(fit->terms, current);
}

}  // namespace paternoster::engine
