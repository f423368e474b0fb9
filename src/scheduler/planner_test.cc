// What a step contains under each choice: boarding, prefill, relief; who waits and why.
#include "scheduler/planner.h"

#include <gtest/gtest.h>

#include "scheduler/testing/lift.h"

namespace paternoster::scheduler {
namespace {

using testing::Lift;

std::vector<std::uint32_t> sizes(const Plan& plan) {
  std::vector<std::uint32_t> tokens;
  for (const RunEntry& entry : plan.run) tokens.push_back(entry.token_count);
  return tokens;
}

using Sizes = std::vector<std::uint32_t>;

TEST(Chunked, DecodesNeverStallAndSeveralPromptsShareAStep) {
  Lift lift("vllm", {.max_seqs = 4, .step_tokens = 8, .block_size = 4, .num_blocks = 64});
  lift.submit(Lift::prompt(3), 20);
  lift.submit(Lift::prompt(20, 100), 20);
  lift.submit(Lift::prompt(3, 200), 20);
  EXPECT_EQ(sizes(lift.step()), (Sizes{3, 5}));
  EXPECT_EQ(sizes(lift.step()), (Sizes{1, 7}));
  EXPECT_EQ(sizes(lift.step()), (Sizes{1, 7}));
  EXPECT_EQ(sizes(lift.step()), (Sizes{1, 1, 3}));
  EXPECT_EQ(sizes(lift.step()), (Sizes{1, 1, 1}));
  lift.run();
}

TEST(Whole, APromptGoesInOneStepOrWaitsForOne) {
  Lift lift("orca", {.max_seqs = 4, .step_tokens = 8, .block_size = 4, .num_blocks = 64});
  lift.submit(Lift::prompt(4), 20);
  const Event second = lift.submit(Lift::prompt(8, 100), 20);
  EXPECT_EQ(sizes(lift.step()), (Sizes{4}));
  EXPECT_EQ(lift.reason_of(second.sequence), WaitReason::kTokenBudget);
  EXPECT_EQ(sizes(lift.step()), (Sizes{8}));  // to itself: it never fits beside others
  EXPECT_EQ(sizes(lift.step()), (Sizes{1, 1}));
  lift.run();
}

TEST(Whole, PromptsOverTheBudgetRunAloneAndLetTheOthersHaveEverySecondStep) {
  Lift lift("orca", {.max_seqs = 4, .step_tokens = 8, .block_size = 4, .num_blocks = 64});
  lift.submit(Lift::prompt(2), 20);
  lift.step();
  lift.submit(Lift::prompt(30, 100), 20);
  lift.submit(Lift::prompt(31, 200), 20);
  EXPECT_EQ(sizes(lift.step()), (Sizes{1}));
  EXPECT_EQ(sizes(lift.step()), (Sizes{30}));
  EXPECT_EQ(sizes(lift.step()), (Sizes{1, 1}));
  EXPECT_EQ(sizes(lift.step()), (Sizes{31}));
  EXPECT_EQ(sizes(lift.step()), (Sizes{1, 1, 1}));
  lift.run();
}

TEST(Static, TheBatchIsClosedUntilAllOfItHasFinished) {
  Lift lift("static", {.max_seqs = 2, .step_tokens = 16, .block_size = 4, .num_blocks = 64});
  lift.submit(Lift::prompt(2), 2);
  lift.submit(Lift::prompt(2, 9), 5);
  const Event third = lift.submit(Lift::prompt(2, 19), 2);
  lift.step();
  lift.step();
  EXPECT_EQ(lift.scheduler.stats().running, 1);
  lift.step();
  EXPECT_EQ(lift.reason_of(third.sequence), WaitReason::kBatchClosed);
  lift.step();
  lift.step();
  EXPECT_TRUE(lift.scheduler.stats().running == 0);
  EXPECT_EQ(lift.step().admitted.size(), 1u);
  lift.run();
}

TEST(Static, ABatchWhosePromptsExceedAStepFormsOverSeveral) {
  Lift lift("static", {.max_seqs = 3, .step_tokens = 8, .block_size = 4, .num_blocks = 64});
  for (int at = 0; at < 4; ++at) lift.submit(Lift::prompt(7, at * 50), 20);
  for (int at = 0; at < 8; ++at) lift.step();
  EXPECT_EQ(lift.scheduler.stats().running, 3);
  EXPECT_EQ(lift.scheduler.stats().waiting, 1);
  lift.run();
}

TEST(Reserve, NobodyBoardsBeforeItsWorstCaseIsSetAside) {
  Lift lift("orca", {.max_seqs = 4, .step_tokens = 16, .block_size = 4, .num_blocks = 8});
  lift.submit(Lift::prompt(4), 13);  // 4 blocks in the end, 1 now
  lift.submit(Lift::prompt(4, 50), 13);
  const Event third = lift.submit(Lift::prompt(4, 90), 13);
  lift.step();
  EXPECT_EQ(lift.scheduler.stats().blocks_used, 2);
  EXPECT_EQ(lift.scheduler.stats().blocks_reserved, 6);
  EXPECT_EQ(lift.reason_of(third.sequence), WaitReason::kNoBlocks);
  lift.run();
  EXPECT_EQ(lift.scheduler.stats().preemptions, 0u);
}

TEST(Recompute, TheLastAdmittedGivesUpItsSeatAndComesBackBeforeTheQueue) {
  Lift lift("vllm",
            {.max_seqs = 2, .step_tokens = 16, .block_size = 2, .num_blocks = 8, .max_len = 16});
  const Event first = lift.submit(Lift::prompt(6), 10);
  const Event second = lift.submit(Lift::prompt(6, 50), 10);
  const Event third = lift.submit(Lift::prompt(2, 90), 4);
  while (lift.plan().preempted.empty()) lift.commit();
  ASSERT_EQ(lift.scheduler.last_plan().preempted.size(), 1u);
  EXPECT_EQ(lift.scheduler.last_plan().preempted[0].sequence, second.sequence);
  EXPECT_EQ(lift.reason_of(second.sequence), WaitReason::kPreempted);
  EXPECT_EQ(lift.reason_of(third.sequence), WaitReason::kBehindEarlier);
  lift.commit();
  lift.run();
  const auto seats = lift.all(EventKind::kAdmitted);
  ASSERT_GE(seats.size(), 4u);
  EXPECT_EQ(seats[0].sequence, first.sequence);
  EXPECT_EQ(seats[2].sequence, second.sequence);
  EXPECT_TRUE(seats[2].resumed);
  EXPECT_EQ(seats[3].sequence, third.sequence);
  EXPECT_GT(lift.scheduler.stats().tokens_recomputed, 0u);
}

TEST(Waiting, TheFirstHasItsOwnReasonAndTheRestAreBehindIt) {
  Lift lift("vllm", {.max_seqs = 4, .step_tokens = 64, .block_size = 4, .num_blocks = 8});
  lift.submit(Lift::prompt(24), 5);
  const Event big = lift.submit(Lift::prompt(12, 100), 5);
  const Event small = lift.submit(Lift::prompt(2, 200), 5);
  lift.step();
  EXPECT_EQ(lift.reason_of(big.sequence), WaitReason::kNoBlocks);
  EXPECT_EQ(lift.reason_of(small.sequence), WaitReason::kBehindEarlier);
  lift.run();
}

TEST(Waiting, WithoutASeatEveryoneWaitsForOne) {
  Lift lift("vllm", {.max_seqs = 1, .step_tokens = 64, .block_size = 4, .num_blocks = 8});
  lift.submit(Lift::prompt(2), 5);
  const Event second = lift.submit(Lift::prompt(2), 5);
  const Event third = lift.submit(Lift::prompt(2), 5);
  lift.step();
  EXPECT_EQ(lift.reason_of(second.sequence), WaitReason::kSeatLimit);
  EXPECT_EQ(lift.reason_of(third.sequence), WaitReason::kSeatLimit);
  lift.run();
}

}  // namespace
}  // namespace paternoster::scheduler
