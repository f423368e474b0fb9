// Nobody starves: sequences that outgrow the pool together end, each preempted a bounded number of
// times.
#include <gtest/gtest.h>

#include <map>

#include "scheduler/testing/lift.h"

namespace paternoster::scheduler {
namespace {

using testing::Lift;

TEST(Livelock, TwoSequencesThatCannotGrowTogetherDoNotPreemptEachOtherForEver) {
  // Each needs all 8 blocks in the end, and both fit at first.
  for (const bool cache : {false, true}) {
    Lift lift("vllm", {.max_seqs = 2,
                       .step_tokens = 8,
                       .block_size = 2,
                       .num_blocks = 8,
                       .max_len = 17,
                       .prefix_cache = cache});
    lift.submit(Lift::prompt(4), 13);
    lift.submit(Lift::prompt(4, 50), 13);
    EXPECT_LT(lift.run(), 60);
    EXPECT_LE(lift.scheduler.stats().preemptions, 6u);
    EXPECT_EQ(lift.said[1], lift.model.alone(Lift::prompt(4), 0, 13));
    EXPECT_EQ(lift.said[2], lift.model.alone(Lift::prompt(4, 50), 0, 13));
  }
}

TEST(Livelock, InACrowdEachIsPreemptedAtMostProtectAfterTimes) {
  for (const std::int32_t protect_after : {1, 2, 5}) {
    Lift lift("vllm", {.max_seqs = 12,
                       .step_tokens = 12,
                       .block_size = 2,
                       .num_blocks = 20,
                       .max_len = 32,
                       .protect_after = protect_after,
                       .prefix_cache = false});
    for (int at = 0; at < 30; ++at) lift.submit(Lift::prompt(3, at * 40), 25, 1 + at % 3);
    lift.run();
    std::map<std::uint64_t, int> taken;
    for (const Event& event : lift.all(EventKind::kPreempted)) ++taken[event.sequence.value];
    ASSERT_FALSE(taken.empty());
    for (const auto& [sequence, times] : taken) EXPECT_LE(times, protect_after);
  }
}

TEST(Livelock, ABlockedBigRequestBoardsAlthoughSmallOnesKeepComing) {
  Lift lift("vllm",
            {.max_seqs = 4, .step_tokens = 16, .block_size = 4, .num_blocks = 8, .max_len = 32});
  lift.submit(Lift::prompt(3), 5);
  const Event big = lift.submit(Lift::prompt(26, 100), 5);
  int steps = 0;
  while (lift.said[big.sequence.value].empty() && ++steps < 100) {
    lift.submit(Lift::prompt(3, 200 + steps), 5);
    lift.step();
  }
  EXPECT_LT(steps, 20);
  lift.run();
}

TEST(Livelock, AProtectedSequenceKeepsItsReservationAgainstEarlierOnes) {
  Lift lift("vllm", {.max_seqs = 3,
                     .step_tokens = 8,
                     .block_size = 1,
                     .num_blocks = 16,
                     .max_len = 16,
                     .protect_after = 1,
                     .prefix_cache = false});
  for (int at = 0; at < 3; ++at) lift.submit(Lift::prompt(4, at * 50), 12);
  lift.run();
  for (std::uint64_t at = 0; at < 3; ++at) {
    EXPECT_EQ(lift.said[at + 1],
              lift.model.alone(Lift::prompt(4, static_cast<TokenId>(at) * 50), 0, 12));
  }
  EXPECT_LE(lift.scheduler.stats().preemptions, 3u);
}

}  // namespace
}  // namespace paternoster::scheduler
