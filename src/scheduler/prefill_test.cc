// How prompts share a step with streams: chunks, stall-free chunks, a latency target.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/testing/lift.h"

namespace paternoster::scheduler {
namespace {

using ::testing::ElementsAre;
using testing::Lift;

std::vector<std::uint32_t> chunk_sizes(const Plan& plan) {
  std::vector<std::uint32_t> tokens;
  for (const RunEntry& entry : plan.run) tokens.push_back(entry.token_count);
  return tokens;
}

Config config_prefilled(Prefill prefill, std::int32_t step_tokens) {
  Config config;
  config.choices.prefill = prefill;
  config.limits = {.max_seqs = 4,
                   .step_tokens = step_tokens,
                   .block_size = 4,
                   .num_blocks = 256,
                   .max_len = 800};
  // A step takes 10 us and 1 us a token.
  config.cost = {.step_ns = 10'000, .token_ps = 1'000'000, .context_ps = 0, .chunk_context_ps = 0};
  return config;
}

TEST(StallFree, StreamsComeBeforeAnUrgentPromptAndUnderChunkedTheyWaitForIt) {
  for (const Prefill prefill : {Prefill::kChunked, Prefill::kStallFree}) {
    Config config = config_prefilled(prefill, 8);
    config.choices.order = Order::kPriority;
    Lift lift(config);
    Request low;
    low.prompt = Lift::prompt(5);
    low.max_tokens = 40;
    low.priority = 1;
    lift.submit(low);
    lift.step();
    lift.submit(Lift::prompt(30, 100), 2);
    bool stalled = false;
    for (int step = 0; step < 4; ++step) {
      for (const Waiting& one : lift.step().waiting) {
        stalled |= one.sequence == SequenceId{1} && one.reason == WaitReason::kTokenBudget;
      }
    }
    EXPECT_EQ(stalled, prefill == Prefill::kChunked);
    lift.run();
  }
}

// The longest step, by the cost model, in which a stream was aboard.
std::int64_t longest_gap_ns(Lift& lift, SequenceId stream) {
  const CostModel& cost = lift.scheduler.config().cost;
  std::int64_t longest = 0;
  while (lift.scheduler.stats().waiting > 0 || lift.scheduler.stats().running > 1) {
    const Plan& plan = lift.step();
    std::int64_t step_ps = cost.step_ns * kPicosecondsANanosecond;
    bool aboard = false;
    for (const RunEntry& entry : plan.run) {
      step_ps += entry_ps(cost, entry.token_count, entry.first_position);
      aboard |= entry.sequence == stream;
    }
    EXPECT_TRUE(aboard || lift.said[stream.value].empty());
    longest = std::max(longest, step_ps / kPicosecondsANanosecond);
  }
  return longest;
}

TEST(LatencyTarget, NoGapOfAStreamExceedsItAndPromptsGetTheRest) {
  for (const std::int64_t chunk_context_ps : {0, 2'000}) {
    Config config = config_prefilled(Prefill::kLatencyTarget, 256);
    config.tuning.itl_target_ns = 60'000;  // room for 50 tokens
    config.cost.chunk_context_ps = chunk_context_ps;
    Lift lift(config);
    const Event stream = lift.submit(Lift::prompt(4), 300);
    lift.step();
    lift.step();
    lift.submit(Lift::prompt(400, 1000), 2);
    const std::int64_t longest = longest_gap_ns(lift, stream.sequence);
    EXPECT_LE(longest, 60'000);
    EXPECT_GT(longest, 58'000);
    lift.run();
  }
}

TEST(LatencyTarget, WithoutAStreamAPromptHasTheWholeStep) {
  Config config = config_prefilled(Prefill::kLatencyTarget, 256);
  config.tuning.itl_target_ns = 60'000;
  Lift lift(config);
  lift.submit(Lift::prompt(400), 2);
  EXPECT_THAT(chunk_sizes(lift.step()), ElementsAre(256));
  lift.run();
}

TEST(LatencyTarget, AnUnreachableOneStillLetsPromptsThrough) {
  Config config = config_prefilled(Prefill::kLatencyTarget, 256);
  config.tuning.itl_target_ns = 5'000;  // less than an empty step
  Lift lift(config);
  lift.submit(Lift::prompt(4), 300);
  lift.step();
  const Event second = lift.submit(Lift::prompt(160, 1000), 2);
  int steps = 0;
  while (lift.said[second.sequence.value].empty() && ++steps < 100) lift.step();
  EXPECT_LE(steps, 11);
  lift.run();
}

TEST(LatencyTarget, AStreamMoreThanTheTargetAllowsWaits) {
  Config config = config_prefilled(Prefill::kLatencyTarget, 64);
  config.tuning.itl_target_ns = 12'000;  // two streams
  Lift lift(config);
  for (int at = 0; at < 3; ++at) {
    lift.submit(Lift::prompt(2, at * 50), 30);
    lift.step();
  }
  EXPECT_EQ(lift.scheduler.stats().running, 2);
  EXPECT_EQ(lift.reason_of(SequenceId{3}), WaitReason::kLatencyTarget);
  lift.run();
}

TEST(LatencyTarget, AShortPromptIsNotStuckBehindALongOne) {
  Config config = config_prefilled(Prefill::kLatencyTarget, 64);
  config.tuning.itl_target_ns = 50'000;
  Lift lift(config);
  lift.submit(Lift::prompt(4), 300);
  lift.step();
  lift.submit(Lift::prompt(700, 1000), 2);
  lift.step();
  const Event quick = lift.submit(Lift::prompt(18, 2000), 2);
  EXPECT_THAT(chunk_sizes(lift.step()), ElementsAre(1, 21, 18));
  EXPECT_EQ(lift.said[quick.sequence.value].size(), 1u);
  lift.run();
}

TEST(LatencyTarget, ARequestMayNameItsOwnAndCoefficientsFollowTheMeasurement) {
  Config config = config_prefilled(Prefill::kLatencyTarget, 64);
  config.tuning.itl_target_ns = 1'000'000;
  Lift lift(config);
  Request request;
  request.prompt = Lift::prompt(4);
  request.max_tokens = 300;
  request.itl_target_ns = 31'000;
  lift.submit(request);
  lift.step();
  lift.submit(Lift::prompt(500, 1000), 2);
  EXPECT_THAT(chunk_sizes(lift.step()), ElementsAre(1, 20));
  CostModel slower = config.cost;
  slower.token_ps *= 2;
  ASSERT_TRUE(lift.scheduler.calibrate(lift.now_ns, slower).has_value());
  EXPECT_THAT(chunk_sizes(lift.step()), ElementsAre(1, 16));  // the least, over the target
  slower.token_ps = 0;
  EXPECT_FALSE(lift.scheduler.calibrate(lift.now_ns, slower).has_value());
  EXPECT_THAT(chunk_sizes(lift.step()), ElementsAre(1, 16));
  lift.run();
}

}  // namespace
}  // namespace paternoster::scheduler
