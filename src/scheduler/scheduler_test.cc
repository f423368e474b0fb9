// The verbs: what is refused, what cancel does in every phase, draining, events.
#include "scheduler/scheduler.h"

#include <gtest/gtest.h>

#include "scheduler/testing/lift.h"

namespace paternoster::scheduler {
namespace {

using testing::Lift;

const Limits kSmall{.max_seqs = 2,
                    .step_tokens = 8,
                    .block_size = 4,
                    .num_blocks = 8,
                    .max_len = 24,
                    .max_queue = 2};

TEST(Submit, RefusesAtOnceWhatCanNeverWorkWithItsReason) {
  Lift lift("vllm", kSmall);
  EXPECT_EQ(lift.submit({}, 4).refusal, Refusal::kInvalid);
  EXPECT_EQ(lift.submit(Lift::prompt(3), 0).refusal, Refusal::kInvalid);
  EXPECT_EQ(lift.submit(Lift::prompt(3), 4, 0).refusal, Refusal::kInvalid);
  EXPECT_EQ(lift.submit(Lift::prompt(3), 4, 1000).refusal, Refusal::kInvalid);
  EXPECT_EQ(lift.submit(Lift::prompt(24), 1).refusal, Refusal::kPromptTooLong);
  EXPECT_EQ(lift.submit(Lift::prompt(23), 1).kind, EventKind::kAccepted);

  Limits long_limits = kSmall;
  long_limits.max_len = 100;
  Lift long_lift("vllm", long_limits);
  EXPECT_EQ(long_lift.submit(Lift::prompt(30), 4).refusal, Refusal::kNeverFits);
  EXPECT_EQ(long_lift.submit(Lift::prompt(30), 3).kind, EventKind::kAccepted);  // 32 are computed
  long_lift.run();
}

TEST(Submit, CountsTheQueueBeyondTheFreeSeatsWhateverTheMoment) {
  Lift lift("vllm", kSmall);
  for (int at = 0; at < 4; ++at)
    EXPECT_EQ(lift.submit(Lift::prompt(2), 9).kind, EventKind::kAccepted);
  EXPECT_EQ(lift.submit(Lift::prompt(2), 9).refusal, Refusal::kQueueFull);
  lift.step();
  EXPECT_EQ(lift.scheduler.stats().running, 2);
  EXPECT_EQ(lift.scheduler.stats().queued_requests, 2);
  EXPECT_EQ(lift.submit(Lift::prompt(2), 9).refusal, Refusal::kQueueFull);
  lift.run();
}

TEST(Submit, PreemptedWorkNeverCountsAgainstTheQueue) {
  Limits limits = kSmall;
  limits.max_queue = 0;
  Lift lift("vllm", limits);
  const Event first = lift.submit(Lift::prompt(2), 9);
  lift.submit(Lift::prompt(2), 9);
  lift.step();
  EXPECT_EQ(lift.submit(Lift::prompt(2), 9).refusal, Refusal::kQueueFull);
  ASSERT_TRUE(lift.scheduler.force_preempt(0, first.sequence));
  EXPECT_EQ(lift.scheduler.stats().queued_requests, 0);
  EXPECT_EQ(lift.submit(Lift::prompt(2), 9).kind, EventKind::kAccepted);  // into the free seat
  lift.run();
  EXPECT_EQ(lift.count(EventKind::kRequestFinished), 3);
}

TEST(Submit, GivesConsecutiveSequencesToTheChoices) {
  Lift lift("vllm", kSmall);
  EXPECT_EQ(lift.submit(Lift::prompt(2), 1, 3).sequence, SequenceId{1});
  EXPECT_EQ(lift.submit(Lift::prompt(2), 1).sequence, SequenceId{4});
  lift.run();
}

TEST(Commit, EndsASequenceAtMaxTokensOrAtMaxLen) {
  Lift lift("vllm", kSmall);
  lift.submit(Lift::prompt(5), 3);
  lift.submit(Lift::prompt(20), 100);
  lift.run();
  const auto ends = lift.all(EventKind::kFinished);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0].count, 3);
  EXPECT_EQ(ends[1].count, 4);  // 24 in all
  EXPECT_EQ(ends[1].finish, FinishReason::kLength);
}

TEST(Commit, EndsASequenceWhenTheExecutorSaysStop) {
  Lift lift("vllm", kSmall);
  const Event accepted = lift.submit(Lift::prompt(5), 10);
  lift.plan();
  const auto events = lift.scheduler.commit(9, {{{accepted.sequence, 7, true}}});
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].kind, EventKind::kAdmitted);
  EXPECT_EQ(events[1].kind, EventKind::kToken);
  EXPECT_EQ(events[1].token, 7);
  EXPECT_EQ(events[2].finish, FinishReason::kStop);
  EXPECT_EQ(events[3].kind, EventKind::kRequestFinished);
  EXPECT_TRUE(lift.scheduler.idle());
}

TEST(Events, AreStampedWithTheTimeOfTheVerbThatCausedThem) {
  auto scheduler = *Scheduler::create(Config{});
  scheduler.submit(10, {.id = RequestId{1}, .prompt = {1}, .max_tokens = 1});
  scheduler.plan(20);
  const auto events = scheduler.commit(30, {{{SequenceId{1}, 7, false}}});
  EXPECT_EQ(events[0].at_ns, 20);
  EXPECT_EQ(events[1].at_ns, 30);
}

TEST(Cancel, InTheQueueEndsWithoutASeat) {
  Lift lift("vllm", kSmall);
  for (int at = 0; at < 3; ++at) lift.submit(Lift::prompt(2), 9);
  lift.step();
  lift.cancel(3);
  EXPECT_EQ(lift.scheduler.stats().waiting, 0);
  EXPECT_EQ(lift.all(EventKind::kFinished).back().finish, FinishReason::kCancelled);
  lift.run();
}

TEST(Cancel, BetweenPlanAndCommitFreesTheBlocksAndCommitPassesOverIt) {
  Lift lift("vllm", kSmall);
  lift.submit(Lift::prompt(3), 9);
  lift.submit(Lift::prompt(3, 50), 9);
  lift.plan();
  lift.cancel(1);
  EXPECT_EQ(lift.scheduler.stats().blocks_used, 1);
  lift.submit(Lift::prompt(2, 90), 9);  // may well get the slot of the one that left
  lift.commit();
  EXPECT_TRUE(lift.said[1].empty());
  EXPECT_EQ(lift.said[2].size(), 1u);
  EXPECT_TRUE(lift.said[3].empty());
  lift.run();
  EXPECT_EQ(lift.count(EventKind::kRequestFinished), 3);
}

TEST(Cancel, EndsEveryChoiceInWhateverPhase) {
  Lift lift("vllm", kSmall);
  lift.submit(Lift::prompt(12), 9, 4);  // one prefills, the others are parked or queue
  lift.step();
  lift.cancel(1);
  EXPECT_TRUE(lift.scheduler.idle());
  EXPECT_EQ(lift.count(EventKind::kFinished), 4);
  EXPECT_EQ(lift.count(EventKind::kRequestFinished), 1);
  EXPECT_EQ(lift.scheduler.stats().blocks_used, 0);
}

TEST(Cancel, OfNobodyIsNothing) {
  Lift lift("vllm", kSmall);
  lift.cancel(77);
  EXPECT_TRUE(lift.events.empty());
}

TEST(Drain, RefusesTheNewAndFinishesTheAccepted) {
  Lift lift("vllm", kSmall);
  for (int at = 0; at < 4; ++at) lift.submit(Lift::prompt(2), 5);
  lift.step();
  lift.scheduler.drain();
  EXPECT_EQ(lift.submit(Lift::prompt(2), 5).refusal, Refusal::kDraining);
  lift.run();
  EXPECT_EQ(lift.count(EventKind::kRequestFinished), 4);
}

TEST(Plan, OfNobodyIsEmptyAndNeedsNoCommit) {
  Lift lift("vllm", kSmall);
  EXPECT_TRUE(lift.plan().empty());
  EXPECT_TRUE(lift.plan().empty());
  EXPECT_FALSE(lift.scheduler.in_flight());
}

}  // namespace
}  // namespace paternoster::scheduler
