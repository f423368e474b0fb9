// Blocks that are shared: prefixes from the cache, prompts between choices, copies.
#include <gtest/gtest.h>

#include "scheduler/testing/lift.h"

namespace paternoster::scheduler {
namespace {

using testing::Lift;

const Limits kRoomy{
    .max_seqs = 4, .step_tokens = 64, .block_size = 4, .num_blocks = 64, .max_len = 64};

TEST(PrefixCache, ASecondRequestSharesTheFullBlocksAndIsToldHowManyTokens) {
  Lift lift("vllm", kRoomy);
  lift.submit(Lift::prompt(10), 3);
  lift.run();
  auto longer = Lift::prompt(10);
  longer.push_back(99);
  lift.submit(longer, 3);
  const Plan& plan = lift.step();
  EXPECT_EQ(plan.admitted[0].cached_tokens, 8);
  EXPECT_EQ(plan.run[0].first_position, 8);
  EXPECT_EQ(lift.scheduler.stats().prefix_hits, 8u);
  lift.run();
}

TEST(PrefixCache, AtLeastTheLastTokenIsComputed) {
  Lift lift("vllm", kRoomy);
  lift.submit(Lift::prompt(8), 5);
  lift.run();
  lift.submit(Lift::prompt(8), 5);
  EXPECT_EQ(lift.step().admitted[0].cached_tokens, 4);
  lift.run();
  EXPECT_EQ(lift.said[1], lift.said[2]);
}

TEST(PrefixCache, IsKeptApartByNamespaceAndPassedOverOnDemand) {
  Lift lift("vllm", kRoomy);
  Request request;
  request.prompt = Lift::prompt(9);
  request.max_tokens = 2;
  lift.submit(request);
  lift.run();
  request.cache_namespace = 1;
  lift.submit(request);
  EXPECT_EQ(lift.step().admitted[0].cached_tokens, 0);
  lift.run();
  request.cache_namespace = 0;
  request.reads_prefix_cache = false;
  lift.submit(request);
  EXPECT_EQ(lift.step().admitted[0].cached_tokens, 0);
  lift.run();
  request.reads_prefix_cache = true;
  lift.submit(request);
  EXPECT_EQ(lift.step().admitted[0].cached_tokens, 8);
  lift.run();
}

TEST(PrefixCache, SwitchedOffKeepsNothing) {
  Limits limits = kRoomy;
  limits.prefix_cache = false;
  Lift lift("vllm", limits);
  lift.submit(Lift::prompt(9), 2);
  lift.run();
  EXPECT_EQ(lift.scheduler.stats().blocks_cached, 0);
  lift.submit(Lift::prompt(9), 2);
  EXPECT_EQ(lift.step().admitted[0].cached_tokens, 0);
  lift.run();
}

TEST(PrefixCache, APreemptedSequenceFindsItsOwnBlocksAgain) {
  Lift lift("vllm", kRoomy);
  const Event accepted = lift.submit(Lift::prompt(9), 12);
  for (int at = 0; at < 6; ++at) lift.step();
  ASSERT_TRUE(lift.scheduler.force_preempt(0, accepted.sequence));
  EXPECT_EQ(lift.step().admitted[0].cached_tokens, 12);  // 14 were computed
  lift.run();
  EXPECT_EQ(lift.said[1], lift.model.alone(Lift::prompt(9), 0, 12));
}

TEST(PrefixCache, GivesWayWhenBlocksAreNeededOldestFirst) {
  Limits limits = kRoomy;
  limits.num_blocks = 6;
  Lift lift("vllm", limits);
  lift.submit(Lift::prompt(9), 2);
  lift.run();
  lift.submit(Lift::prompt(20, 100), 2);
  lift.run();
  lift.submit(Lift::prompt(9), 2);
  EXPECT_LT(lift.step().admitted[0].cached_tokens, 8);
  lift.run();
}

TEST(Siblings, ShareTheirPromptsBlocksAndCopyTheLastPartlyFilledOne) {
  Lift lift("vllm", kRoomy);
  lift.submit(Lift::prompt(10), 6, 3);
  const Plan& first = lift.plan();
  EXPECT_EQ(first.run.size(), 1u);
  EXPECT_EQ(lift.scheduler.stats().parked, 2);
  EXPECT_EQ(lift.reason_of(SequenceId{2}), WaitReason::kSiblingPrefill);
  lift.commit();
  const Plan& second = lift.plan();
  ASSERT_EQ(second.run.size(), 3u);
  EXPECT_EQ(second.copies.size(), 2u);
  EXPECT_EQ(second.run[1].first_position, 9);  // the last prompt token again, for its own draw
  EXPECT_EQ(second.run[1].token_count, 1u);
  EXPECT_EQ(second.admitted[0].cached_tokens, 9);
  EXPECT_EQ(second.blocks_of(second.run[0])[1], second.blocks_of(second.run[2])[1]);
  EXPECT_NE(second.blocks_of(second.run[0])[2], second.blocks_of(second.run[2])[2]);
  EXPECT_EQ(lift.scheduler.stats().blocks_used, 5);
  lift.commit();
  lift.run();
  for (std::int32_t choice = 0; choice < 3; ++choice) {
    EXPECT_EQ(lift.said[choice + 1], lift.model.alone(Lift::prompt(10), choice, 6));
  }
}

TEST(Siblings, ShareWithoutTheCacheToo) {
  Limits limits = kRoomy;
  limits.prefix_cache = false;
  Lift lift("vllm", limits);
  lift.submit(Lift::prompt(9), 6, 4);  // the last prompt token begins a block: nothing to copy
  lift.step();
  EXPECT_TRUE(lift.step().copies.empty());
  EXPECT_EQ(lift.scheduler.stats().tokens_forked, 24u);
  lift.run();
}

TEST(Siblings, ALaterRequestIsNotHeldUpByParkedSiblings) {
  Limits limits = kRoomy;
  limits.step_tokens = 8;
  Lift lift("vllm", limits);
  lift.submit(Lift::prompt(5), 6, 2);
  const Event other = lift.submit(Lift::prompt(2, 50), 6);
  const Plan& plan = lift.step();
  ASSERT_EQ(plan.run.size(), 2u);
  EXPECT_EQ(plan.run[1].sequence, other.sequence);
  lift.run();
}

class EveryPreset : public ::testing::TestWithParam<Preset> {};

TEST_P(EveryPreset, FinishesMoreChoicesThanSeats) {
  Lift lift(
      {GetParam().choices, {.max_seqs = 2, .step_tokens = 8, .block_size = 4, .num_blocks = 64}});
  lift.submit(Lift::prompt(10), 7, 9);
  lift.submit(Lift::prompt(3, 50), 7);
  lift.run();
  for (std::int32_t choice = 0; choice < 9; ++choice) {
    EXPECT_EQ(lift.said[choice + 1], lift.model.alone(Lift::prompt(10), choice, 7));
  }
}

TEST_P(EveryPreset, FinishesChoicesThatCannotAllFitAtOnce) {
  // One sequence needs 5 of the 6 blocks in the end.
  Lift lift({GetParam().choices,
             {.max_seqs = 8, .step_tokens = 16, .block_size = 4, .num_blocks = 6, .max_len = 20}});
  lift.submit(Lift::prompt(10), 10, 6);
  lift.run();
  EXPECT_EQ(lift.count(EventKind::kRequestFinished), 1);
  for (std::int32_t choice = 0; choice < 6; ++choice) {
    EXPECT_EQ(lift.said[choice + 1], lift.model.alone(Lift::prompt(10), choice, 10));
  }
}

TEST_P(EveryPreset, SiblingsGoOnWhenTheOneThatPrefilledIsOverBeforeTheyBoard) {
  Lift lift(
      {GetParam().choices, {.max_seqs = 1, .step_tokens = 4, .block_size = 4, .num_blocks = 8}});
  lift.submit(Lift::prompt(4), 1, 3);
  lift.run();
  EXPECT_EQ(lift.count(EventKind::kFinished), 3);
}

TEST_P(EveryPreset, SiblingsGoOnWhenTheOneThatPrefillsIsPreemptedHalfway) {
  Lift lift(
      {GetParam().choices, {.max_seqs = 4, .step_tokens = 4, .block_size = 4, .num_blocks = 16}});
  lift.submit(Lift::prompt(11), 4, 3);
  lift.step();
  lift.scheduler.force_preempt(0, SequenceId{1});
  lift.run();
  for (std::int32_t choice = 0; choice < 3; ++choice) {
    EXPECT_EQ(lift.said[choice + 1], lift.model.alone(Lift::prompt(11), choice, 4));
  }
}

INSTANTIATE_TEST_SUITE_P(Siblings, EveryPreset,
                         ::testing::ValuesIn(presets().begin(), presets().end()),
                         [](const auto& preset) { return std::string(preset.param.name); });

}  // namespace
}  // namespace paternoster::scheduler
