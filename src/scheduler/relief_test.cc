// What happens when KV is short: who loses its seat, what is copied to the host, what it costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/state.h"
#include "scheduler/testing/lift.h"

namespace paternoster::scheduler {
namespace {

using testing::Lift;

// Two riders outgrow a pool of eight blocks of two.
Config config_relieved(Relief relief, std::int32_t swap_blocks) {
  Config config;
  config.choices.relief = relief;
  config.limits = {.max_seqs = 4,
                   .step_tokens = 16,
                   .block_size = 2,
                   .num_blocks = 8,
                   .max_len = 16,
                   .swap_blocks = swap_blocks,
                   .prefix_cache = false};
  return config;
}

void submit_two(Lift& lift) {
  lift.submit(Lift::prompt(6), 10);
  lift.submit(Lift::prompt(6, 50), 10);
}

void expect_solo_tokens(const Lift& lift) {
  EXPECT_EQ(lift.said.at(1), lift.model.alone(Lift::prompt(6), 0, 10));
  EXPECT_EQ(lift.said.at(2), lift.model.alone(Lift::prompt(6, 50), 0, 10));
}

TEST(Swap, KeepsWhatWasComputed) {
  Lift lift(config_relieved(Relief::kSwap, 8));
  submit_two(lift);
  lift.run();
  expect_solo_tokens(lift);
  const Stats stats = lift.scheduler.stats();
  EXPECT_GT(stats.preemptions, 0u);
  EXPECT_EQ(stats.tokens_recomputed, 0u);
  EXPECT_EQ(stats.blocks_swapped_out, stats.blocks_swapped_in);
  EXPECT_EQ(stats.swap_blocks_used, 0);
  std::int32_t out = 0, in = 0, told = 0;
  for (const Event& event : lift.events) {
    if (event.kind == EventKind::kPreempted) out += event.swapped_blocks;
    if (event.kind == EventKind::kAdmitted) in += event.swapped_blocks;
    if (event.kind == EventKind::kFinished) told += event.swapped_blocks;
  }
  EXPECT_EQ(out, static_cast<std::int32_t>(stats.blocks_swapped_out));
  EXPECT_EQ(in, out);
  EXPECT_EQ(told, out + in);
}

TEST(Swap, AFullHostAreaParksByRecomputingAndNeverKills) {
  Lift lift(config_relieved(Relief::kSwap, 1));
  submit_two(lift);
  lift.run();
  expect_solo_tokens(lift);
  EXPECT_GT(lift.scheduler.stats().tokens_recomputed, 0u);
  EXPECT_EQ(lift.scheduler.stats().blocks_swapped_out, 0u);
}

TEST(Swap, CancelWhileInTheHostFreesItsRoom) {
  Lift lift(config_relieved(Relief::kSwap, 8));
  submit_two(lift);
  while (lift.plan().preempted.empty()) lift.commit();
  EXPECT_FALSE(lift.scheduler.last_plan().swap_out.empty());
  lift.cancel(2);  // between plan and commit
  lift.commit();
  EXPECT_EQ(lift.scheduler.stats().swap_blocks_used, 0);
  lift.run();
}

TEST(Swap, WithoutRoomAtAllIsRefused) {
  EXPECT_THAT(validate(config_relieved(Relief::kSwap, 0)).error().message,
              ::testing::HasSubstr("swap_blocks is 0"));
  EXPECT_TRUE(validate(config_relieved(Relief::kAuto, 0)).has_value());
}

TEST(Auto, TakesTheCheaperWay) {
  for (const bool copies_are_dear : {false, true}) {
    Config config = config_relieved(Relief::kAuto, 8);
    config.cost.swap_block_ns = copies_are_dear ? 1'000'000'000 : 10;
    Lift lift(config);
    submit_two(lift);
    lift.run();
    expect_solo_tokens(lift);
    EXPECT_EQ(lift.scheduler.stats().blocks_swapped_out == 0, copies_are_dear);
    EXPECT_EQ(lift.scheduler.stats().tokens_recomputed == 0, !copies_are_dear);
  }
}

TEST(Victim, TheOneWithLeastToLoseOrTheLatest) {
  for (const Victim victim : {Victim::kLatest, Victim::kLeastWork}) {
    Config config = config_relieved(Relief::kRecompute, 0);
    config.choices.victim = victim;
    config.limits.max_len = 15;
    Lift lift(config);
    const Event small = lift.submit(Lift::prompt(2), 9);
    const Event big = lift.submit(Lift::prompt(7, 50), 8);
    while (lift.plan().preempted.empty()) lift.commit();
    const SequenceId taken = lift.scheduler.last_plan().preempted[0].sequence;
    EXPECT_EQ(taken, victim == Victim::kLatest ? big.sequence : small.sequence);
    lift.commit();
    lift.run();
  }
}

// A victim that had its token in this very step gives it back, and a prompt gets it.
TEST(Victim, ItsShareOfTheStepGoesToOthers) {
  Config config = config_relieved(Relief::kRecompute, 0);
  config.choices.victim = Victim::kLeastWork;
  config.choices.prefill = Prefill::kStallFree;
  config.limits = {.max_seqs = 3,
                   .step_tokens = 4,
                   .block_size = 2,
                   .num_blocks = 12,
                   .max_len = 24,
                   .prefix_cache = false};
  Lift lift(config);
  const Event small = lift.submit(Lift::prompt(1), 9);
  lift.submit(Lift::prompt(3, 30), 9);
  lift.step();
  lift.step();
  lift.submit(Lift::prompt(12, 60), 2);
  while (lift.plan().preempted.empty()) lift.commit();
  const Plan& plan = lift.scheduler.last_plan();
  EXPECT_EQ(plan.preempted[0].sequence, small.sequence);
  ASSERT_EQ(plan.run.size(), 2u);
  EXPECT_EQ(plan.run[0].token_count, 1u);
  EXPECT_EQ(plan.run[1].token_count, 3u);  // two, and the victim's
  lift.commit();
  lift.run();
}

// A pool of 2,048 tokens and four riders that want six tenths of it each: everyone ends with the
// tokens it would have alone, under every relief.
TEST(Overflow, FourThatWantMoreThanHalfThePoolAllFinish) {
  for (const Relief relief :
       {Relief::kReserve, Relief::kRecompute, Relief::kSwap, Relief::kAuto}) {
    Config config;
    config.choices.relief = relief;
    config.limits = {.max_seqs = 4,
                     .step_tokens = 256,
                     .block_size = 16,
                     .num_blocks = 128,
                     .max_len = 1300,
                     .swap_blocks = 128};
    Lift lift(config);
    for (TokenId rider = 0; rider < 4; ++rider) {
      lift.submit(Lift::prompt(200, rider * 10000), 1029);
    }
    lift.run();
    for (std::uint64_t rider = 0; rider < 4; ++rider) {
      const auto prompt = Lift::prompt(200, static_cast<TokenId>(rider) * 10000);
      EXPECT_EQ(lift.said[rider + 1], lift.model.alone(prompt, 0, 1029)) << to_string(relief);
    }
    EXPECT_LE(lift.scheduler.stats().preemptions, 4u * 3u);
    EXPECT_EQ(lift.count(EventKind::kRequestFinished), 4);
  }
}

// The first of the queue is not looked up again while nothing has come free, and boards in the very
// step in which enough has.
TEST(Blocked, TheFirstOfTheQueueBoardsAsSoonAsBlocksAreReleased) {
  Config config = config_relieved(Relief::kRecompute, 0);
  Lift lift(config);
  lift.submit(Lift::prompt(6), 4);
  const Event big = lift.submit(Lift::prompt(12, 50), 2);
  while (lift.all(EventKind::kFinished).empty()) {
    EXPECT_TRUE(lift.step().admitted.empty() || lift.scheduler.last_plan().step == 1);
    EXPECT_EQ(lift.reason_of(big.sequence), WaitReason::kNoBlocks);
  }
  ASSERT_EQ(lift.step().admitted.size(), 1u);
  EXPECT_EQ(lift.scheduler.last_plan().admitted[0].sequence, big.sequence);
  lift.run();
}

// A prefix that somebody computes meanwhile is noticed within a few steps, though nothing is released.
TEST(Blocked, APrefixThatComesMeanwhileIsNoticed) {
  Config config = config_relieved(Relief::kRecompute, 0);
  config.limits.prefix_cache = true;
  config.limits.step_tokens = 4;
  config.limits.num_blocks = 10;
  config.limits.max_len = 20;
  Lift lift(config);
  lift.submit(Lift::prompt(12), 8);
  const Event same = lift.submit(Lift::prompt(13), 2);
  int steps = 0;
  while (lift.said[same.sequence.value].empty() && ++steps < 30) lift.step();
  EXPECT_LT(steps, 14);
  EXPECT_EQ(lift.count(EventKind::kRequestFinished), 0);  // beside the other, not after it
  lift.run();
}

// Whoever is cancelled in a step is passed over at its commit even if its slot has a new owner.
TEST(Commit, PassesOverASlotThatChangedHandsWithinTheStep) {
  Config config = config_relieved(Relief::kRecompute, 0);
  config.limits.max_queue = 8;
  Lift lift(config);
  lift.submit(Lift::prompt(2), 5);
  lift.plan();
  lift.cancel(1);
  const Event next = lift.submit(Lift::prompt(2, 50), 5);  // gets the slot of the first
  const State& state = lift.scheduler.state();
  ASSERT_EQ(*state.sequence_slots.find(next.sequence.value), state.plan_slots[0]);
  lift.commit();
  EXPECT_TRUE(lift.said[next.sequence.value].empty());
  lift.run();
  EXPECT_EQ(lift.said[next.sequence.value], lift.model.alone(Lift::prompt(2, 50), 0, 5));
}

}  // namespace
}  // namespace paternoster::scheduler
