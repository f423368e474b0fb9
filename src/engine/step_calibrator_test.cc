#include "engine/step_calibrator.h"

#include <gtest/gtest.h>

namespace paternoster::engine {
namespace {

scheduler::Plan plan_of(std::int32_t position, std::uint32_t tokens, std::int32_t decodes) {
  scheduler::Plan plan;
  if (tokens > 1) {
    scheduler::RunEntry& chunk = plan.run.emplace_back();
    chunk.first_position = position;
    chunk.token_count = tokens;
  }
  for (std::int32_t i = 0; i < decodes; ++i) {
    scheduler::RunEntry& decode = plan.run.emplace_back();
    decode.first_position = position + 10 * i;
    decode.token_count = 1;
  }
  return plan;
}

std::int64_t cost_ns(const scheduler::CostModel& model, const scheduler::Plan& plan) {
  std::int64_t ps = 0;
  for (const scheduler::RunEntry& entry : plan.run) {
    ps += scheduler::entry_ps(model, entry.token_count, entry.first_position);
  }
  return model.step_ns + ps / scheduler::kPicosecondsANanosecond;
}

TEST(StepCalibrator, LearnsWhatStepsCost) {
  scheduler::CostModel truth;
  truth.step_ns = 4'000'000;
  truth.token_ps = 600'000'000;
  truth.context_ps = 2'000'000;
  truth.chunk_context_ps = 1'000'000;
  truth.swap_block_ns = 7;
  StepCalibrator calibrator;
  scheduler::CostModel learnt;
  learnt.swap_block_ns = 7;
  int times = 0;
  for (std::int32_t step = 0; step < 400; ++step) {
    const std::uint32_t chunk = step % 3 == 0 ? 16u + static_cast<std::uint32_t>(step % 7) * 16u : 0u;
    const scheduler::Plan plan = plan_of(step % 97, chunk, 1 + step % 5);
    if (const auto model = calibrator.take(plan, cost_ns(truth, plan), learnt)) {
      learnt = *model;
      ++times;
    }
  }
  EXPECT_EQ(times, 6);
  EXPECT_EQ(learnt.swap_block_ns, 7);
  for (const auto& plan : {plan_of(50, 256, 4), plan_of(90, 0, 8), plan_of(0, 64, 1)}) {
    EXPECT_NEAR(static_cast<double>(cost_ns(learnt, plan)), static_cast<double>(cost_ns(truth, plan)),
                0.05 * static_cast<double>(cost_ns(truth, plan)));
  }
}

TEST(StepCalibrator, KeepsTheOldModelWhenNothingIsExplained) {
  StepCalibrator calibrator;
  for (std::int32_t step = 0; step < 200; ++step) {
    const std::int64_t noise_ns = step % 2 == 0 ? 1'000'000 : 30'000'000;
    EXPECT_FALSE(calibrator.take(plan_of(5, 0, 1), noise_ns, {}));
  }
}

}  // namespace
}  // namespace paternoster::engine
