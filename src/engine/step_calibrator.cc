#include "engine/step_calibrator.h"

#include <algorithm>

#include "cost/fit.h"

namespace paternoster::engine {

bool StepCalibrator::is_read_by(const scheduler::Choices& choices) {
  return choices.prefill == scheduler::Prefill::kLatencyTarget || choices.order == scheduler::Order::kShortest ||
         choices.order == scheduler::Order::kDeadline || choices.order == scheduler::Order::kMultilevel;
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
  scheduler::CostModel model = current;
  model.step_ns = fit->terms.fixed_ps / scheduler::kPicosecondsANanosecond;
  model.token_ps = std::max<std::int64_t>(fit->terms.prompt_token_ps, 1);
  model.context_ps = fit->terms.decode_context_ps;
  model.chunk_context_ps = fit->terms.chunk_context_ps;
  return model;
}

}  // namespace paternoster::engine
