// When sequences get on, and for how long: the baselines, the window, the slices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/testing/lift.h"

namespace paternoster::scheduler {
namespace {

using testing::Lift;

const Limits kRoom{
    .max_seqs = 4, .step_tokens = 32, .block_size = 4, .num_blocks = 64, .max_len = 200};

Config config_of(Boarding boarding, const Limits& limits = kRoom) {
  Config config;
  config.choices = {boarding, Order::kFcfs, Prefill::kWhole, Relief::kReserve, Victim::kLatest};
  config.limits = limits;
  return config;
}

std::int64_t end_of(const Lift& lift, const Event& accepted) {
  for (const Event& event : lift.all(EventKind::kFinished)) {
    if (event.sequence == accepted.sequence) return event.at_ns;
  }
  return -1;
}

TEST(StaticGlobal, EveryBatchRunsToTheLongestThatAnybodyAskedFor) {
  Lift lift(config_of(Boarding::kStaticGlobal));
  lift.submit(Lift::prompt(4), 40);
  lift.run();
  const std::uint64_t steps = lift.scheduler.stats().steps;
  const Event quick = lift.submit(Lift::prompt(4), 3);
  const Event other = lift.submit(Lift::prompt(4, 50), 5);
  lift.run();
  EXPECT_EQ(lift.scheduler.stats().steps - steps, 40u);
  EXPECT_EQ(lift.scheduler.stats().tokens_invalid, 37u + 35u);
  EXPECT_EQ(end_of(lift, quick), end_of(lift, other));  // told with the batch
  EXPECT_EQ(lift.said[quick.sequence.value].size(), 3u);
  EXPECT_EQ(lift.all(EventKind::kFinished)[1].count, 3);
}

TEST(StaticGlobal, RunsNobodyPastItsContextOrThePool) {
  Limits limits = kRoom;
  limits.max_len = 30;
  Lift lift(config_of(Boarding::kStaticGlobal, limits));
  lift.submit(Lift::prompt(2), 28);
  lift.submit(Lift::prompt(20, 50), 2);
  lift.run();
  EXPECT_EQ(lift.scheduler.stats().tokens_invalid, 8u);
  limits.max_len = 200;
  limits.num_blocks = 8;  // 32 tokens
  Lift tight(config_of(Boarding::kStaticGlobal, limits));
  tight.submit(Lift::prompt(2), 30);
  tight.submit(Lift::prompt(30, 50), 2);
  tight.run();
}

TEST(Window, GathersUntilTheFirstHasWaitedLongEnough) {
  Config config = config_of(Boarding::kWindow);
  config.tuning.window_ns = 1000;
  Lift lift(config);
  const Event first = lift.submit(Lift::prompt(4), 3);
  const std::int64_t came_ns = lift.now_ns;
  EXPECT_TRUE(lift.plan().empty());
  EXPECT_EQ(lift.scheduler.last_plan().again_ns, came_ns + 1000);
  EXPECT_EQ(lift.reason_of(first.sequence), WaitReason::kWindowOpen);
  lift.now_ns = came_ns + 500;
  const Event second = lift.submit(Lift::prompt(4, 50), 3);
  lift.now_ns = came_ns + 1000;
  EXPECT_EQ(lift.step().admitted.size(), 2u);
  const Event third = lift.submit(Lift::prompt(4, 90), 3);
  lift.step();
  EXPECT_EQ(lift.reason_of(third.sequence), WaitReason::kBatchClosed);
  EXPECT_GT(end_of(lift, second), -2);
  lift.run();
  EXPECT_EQ(lift.count(EventKind::kRequestFinished), 3);
}

TEST(Window, ClosesEarlyWhenTheUnitIsFullAndTakesNoMore) {
  Config config = config_of(Boarding::kWindow);
  config.tuning.window_ns = 1'000'000;
  config.tuning.window_seqs = 2;
  Lift lift(config);
  for (int at = 0; at < 3; ++at) lift.submit(Lift::prompt(4, at * 50), 3);
  EXPECT_EQ(lift.step().admitted.size(), 2u);
  lift.run();
}

TEST(Window, ADeadlinePassesWhileArrivalsAreGathered) {
  Config config = config_of(Boarding::kWindow);
  config.tuning.window_ns = 1'000'000;
  Lift lift(config);
  Request request;
  request.prompt = Lift::prompt(4);
  request.deadline_ns = 500;
  const Event accepted = lift.submit(request);
  lift.step();
  EXPECT_EQ(lift.scheduler.last_plan().again_ns, 501);
  lift.step();
  EXPECT_FALSE(lift.scheduler.live(accepted.request));
  EXPECT_EQ(lift.all(EventKind::kFinished)[0].finish, FinishReason::kDeadline);
}

TEST(Sliced, ABatchRunsForOneSliceAndTheUnfinishedReturnBehindThePool) {
  Config config = config_of(Boarding::kSliced);
  config.limits.max_seqs = 2;
  config.tuning.slice_tokens = 5;
  Lift lift(config);
  const Event big = lift.submit(Lift::prompt(4), 12);
  lift.submit(Lift::prompt(4, 50), 3);
  const Event next = lift.submit(Lift::prompt(4, 90), 3);
  for (int step = 0; step < 5; ++step) lift.step();
  ASSERT_EQ(lift.count(EventKind::kPreempted), 1);
  EXPECT_EQ(lift.all(EventKind::kPreempted)[0].sequence, big.sequence);
  EXPECT_EQ(lift.all(EventKind::kPreempted)[0].cause, PreemptCause::kSlice);
  const Plan& plan = lift.step();
  ASSERT_EQ(plan.admitted.size(), 2u);
  EXPECT_EQ(plan.admitted[0].sequence, next.sequence);
  EXPECT_EQ(plan.run[1].token_count, 9u);  // prompt and output so far, anew
  lift.run();
  EXPECT_EQ(lift.scheduler.stats().slices, 2u);
  EXPECT_EQ(lift.scheduler.stats().preemptions, 0u);
  EXPECT_EQ(lift.scheduler.stats().tokens_recomputed, 8u + 13u);
}

TEST(Sliced, ReservesASliceAndNotTheWorstCase) {
  Config config = config_of(Boarding::kSliced);
  config.limits.num_blocks = 10;  // 40 tokens; each request needs 33 in the end
  config.tuning.slice_tokens = 5;
  Lift lift(config);
  for (int at = 0; at < 4; ++at) lift.submit(Lift::prompt(4, at * 50), 30);
  EXPECT_EQ(lift.step().admitted.size(), 4u);
  lift.run();
}

TEST(SlicedKeep, FindsItsBlocksAgainWhereMemoryAllowed) {
  Config config = config_of(Boarding::kSlicedKeep);
  config.tuning.slice_tokens = 5;
  Lift lift(config);
  lift.submit(Lift::prompt(4), 12);
  lift.submit(Lift::prompt(4, 50), 12);
  lift.run();
  EXPECT_EQ(lift.scheduler.stats().slices, 4u);
  EXPECT_LE(lift.scheduler.stats().tokens_recomputed, 2u * 2u * 4u);  // less than a block each time
}

TEST(Sliced, SiblingsOfARiderCannotPassTheSliceEnd) {
  Config config = config_of(Boarding::kSliced);
  config.tuning.slice_tokens = 3;
  Lift lift(config);
  lift.submit(Lift::prompt(6), 20, 3);
  const Event other = lift.submit(Lift::prompt(4, 50), 2);
  lift.submit(Lift::prompt(4, 90), 2);
  int steps = 0;
  while (lift.scheduler.live(other.request) && ++steps < 100) lift.step();
  EXPECT_LT(steps, 12);
  lift.run();
}

}  // namespace
}  // namespace paternoster::scheduler
