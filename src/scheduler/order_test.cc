// Who is next under each order, and the bounds on every wait that the orders state.
#include "scheduler/order/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/testing/lift.h"

namespace paternoster::scheduler {
namespace {

using ::testing::ElementsAre;
using testing::Lift;

Config config_ordered(Order order, const Limits& limits) {
  Config config;
  config.choices.order = order;
  config.limits = limits;
  return config;
}

const Limits kOneSeat{
    .max_seqs = 1, .step_tokens = 64, .block_size = 4, .num_blocks = 64, .max_len = 200};

Request request(std::size_t prompt, std::int32_t max_tokens, TokenId first = 0) {
  Request made;
  made.prompt = Lift::prompt(prompt, first);
  made.max_tokens = max_tokens;
  return made;
}

// Requests in the order of their first seats.
std::vector<std::uint64_t> boarding_order(const Lift& lift) {
  std::vector<std::uint64_t> order;
  for (const Event& event : lift.all(EventKind::kAdmitted)) {
    if (!event.resumed) order.push_back(event.request.value);
  }
  return order;
}

// ---- priority

Request of_class(std::int32_t priority, std::size_t prompt = 4, std::int32_t max_tokens = 4) {
  Request made = request(prompt, max_tokens, priority * 100);
  made.priority = priority;
  return made;
}

TEST(Priority, ALowerValueBoardsFirst) {
  Lift lift(config_ordered(Order::kPriority, kOneSeat));
  for (const std::int32_t priority : {5, 5, 1, 3}) lift.submit(of_class(priority));
  lift.step();
  EXPECT_EQ(lift.reason_of(SequenceId{1}), WaitReason::kClass);
  lift.run();
  EXPECT_THAT(boarding_order(lift), ElementsAre(3, 4, 1, 2));
}

TEST(Priority, AStrictlyHigherClassTakesTheSeatOfTheLowestAndAnEqualOneWaits) {
  Limits limits = kOneSeat;
  limits.max_seqs = 2;
  Lift lift(config_ordered(Order::kPriority, limits));
  lift.submit(of_class(1, 4, 30));
  lift.submit(of_class(2, 4, 30));
  lift.step();
  lift.submit(of_class(2));
  EXPECT_TRUE(lift.step().preempted.empty());
  lift.submit(of_class(0));
  const Plan& plan = lift.step();
  ASSERT_EQ(plan.preempted.size(), 1u);
  EXPECT_EQ(plan.preempted[0].sequence, SequenceId{2});
  EXPECT_EQ(plan.preempted[0].cause, PreemptCause::kClass);
  lift.run();
  EXPECT_EQ(lift.said[2], lift.model.alone(Lift::prompt(4, 200), 0, 30));
}

// Steps from the submission of the request until its first token.
int steps_to_first_token(Lift& lift, Request request) {
  const Event accepted = lift.submit(std::move(request));
  int steps = 0;
  while (lift.said[accepted.sequence.value].empty() && ++steps < 1000) lift.step();
  return steps;
}

TEST(Priority, AmongManyLowOnesTheFirstTokenComesAtMostThreeStepsLaterThanAlone) {
  for (const Prefill prefill : {Prefill::kWhole, Prefill::kChunked}) {
    for (const std::size_t low_prompt : {2u, 60u}) {
      Config config = config_ordered(Order::kPriority, {.max_seqs = 8,
                                                   .step_tokens = 32,
                                                   .block_size = 4,
                                                   .num_blocks = 128,
                                                   .max_len = 200});
      config.choices.prefill = prefill;
      Lift alone(config);
      const int solo = steps_to_first_token(alone, of_class(0, 40));
      for (int warm = 1; warm < 12; ++warm) {
        Lift crowd(config);
        for (int low = 1; low <= 40; ++low) crowd.submit(of_class(low % 3 + 1, low_prompt, 60));
        for (int step = 0; step < warm; ++step) crowd.step();
        EXPECT_LE(steps_to_first_token(crowd, of_class(0, 40)), solo + 3)
            << warm << " steps, low prompts of " << low_prompt;
      }
    }
  }
}

TEST(Priority, AgeingBoundsHowMuchLaterAHigherClassMayCome) {
  Config config = config_ordered(Order::kPriority, kOneSeat);
  config.tuning.ageing_ns = 50;
  Lift lift(config);
  const Event low = lift.submit(of_class(2, 4, 40));
  const std::int64_t submitted_ns = lift.now_ns;
  // A stream of the highest class that alone fills the machine.
  std::vector<std::int64_t> overtook;
  std::map<std::uint64_t, std::int64_t> submitted;
  while (lift.scheduler.live(low.request)) {
    const Event high = lift.submit(of_class(0, 4, 3));
    submitted[high.request.value] = lift.now_ns;
    const std::size_t before = lift.events.size();
    lift.step();
    for (std::size_t at = before; at < lift.events.size(); ++at) {
      const Event& event = lift.events[at];
      if (event.kind != EventKind::kAdmitted || event.request == low.request) continue;
      overtook.push_back(submitted[event.request.value]);
    }
    ASSERT_LT(lift.now_ns, 10000);
  }
  ASSERT_GT(overtook.size(), 10u);
  for (const std::int64_t at : overtook) EXPECT_LT(at, submitted_ns + 2 * 50);
  lift.run();
}

// ---- shortest

TEST(Shortest, ByWhatIsExpectedAndByMaxTokensWithoutAnExpectation) {
  Lift lift(config_ordered(Order::kShortest, kOneSeat));
  lift.submit(request(4, 40));
  lift.submit(request(4, 20, 10));
  Request declared = request(4, 40, 20);
  declared.expected_tokens = 5;
  lift.submit(declared);
  lift.step();
  EXPECT_EQ(lift.reason_of(SequenceId{1}), WaitReason::kShorterFirst);
  lift.run();
  EXPECT_THAT(boarding_order(lift), ElementsAre(3, 2, 1));
}

TEST(Shortest, WhoeverHasWaitedForPromotionGoesBeforeEveryShorterOne) {
  Config config = config_ordered(Order::kShortest, kOneSeat);
  config.tuning.promotion_ns = 100;
  Lift lift(config);
  lift.submit(request(4, 3));
  const Event big = lift.submit(request(40, 60, 100));
  const std::int64_t submitted_ns = lift.now_ns;
  std::int64_t boarded_ns = 0;
  while (boarded_ns == 0) {
    lift.submit(request(4, 3));
    lift.step();
    for (const Event& event : lift.all(EventKind::kAdmitted)) {
      if (event.sequence == big.sequence) boarded_ns = event.at_ns;
    }
    ASSERT_LT(lift.now_ns, 2000);
  }
  // Then it only waits for the seat: three steps of three verbs.
  EXPECT_GT(boarded_ns, submitted_ns + 100);
  EXPECT_LE(boarded_ns, submitted_ns + 100 + 9);
  lift.run();
}

// ---- deadline

// A step takes a millisecond, a token a microsecond.
Config deadlines() {
  Config config = config_ordered(Order::kDeadline, kOneSeat);
  config.cost = {.step_ns = 1'000'000, .token_ps = 1'000'000, .context_ps = 0, .chunk_context_ps = 0};
  return config;
}

Request until(std::int64_t deadline_ns, std::size_t prompt = 4, std::int32_t expected = 0) {
  Request made = request(prompt, 8, static_cast<TokenId>(deadline_ns % 1000));
  made.deadline_ns = deadline_ns;
  made.expected_tokens = expected;
  return made;
}

TEST(Deadline, TheEarliestBoardsFirstAndWithoutOneAfterTheBound) {
  Config config = deadlines();
  config.tuning.promotion_ns = 1'000'000'000;
  Lift lift(config);
  lift.submit(request(4, 2, 77));
  lift.submit(until(900'000'001));
  lift.submit(until(500'000'002));
  lift.submit(until(2'000'000'003));
  lift.step();
  EXPECT_EQ(lift.reason_of(SequenceId{4}), WaitReason::kEarlierDeadline);
  lift.run();
  EXPECT_THAT(boarding_order(lift), ElementsAre(3, 2, 1, 4));
}

TEST(Deadline, HopelessWorkIsRefusedAtArrival) {
  Lift lift(deadlines());
  EXPECT_EQ(lift.submit(until(900'000)).refusal, Refusal::kDeadlineHopeless);
  EXPECT_EQ(lift.submit(until(1'100'000)).kind, EventKind::kAccepted);
  EXPECT_EQ(lift.submit(until(5'000'000, 4, 6)).refusal, Refusal::kDeadlineHopeless);
  EXPECT_EQ(lift.submit(until(6'100'000, 4, 6)).kind, EventKind::kAccepted);
  // The prompt counts, but for what the cache has of it.
  EXPECT_EQ(lift.submit(until(1'030'000, 40)).refusal, Refusal::kDeadlineHopeless);
  Request same = request(40, 1, 30);
  lift.submit(same);
  lift.run();
  same.deadline_ns = lift.now_ns + 1'030'000;
  EXPECT_EQ(lift.submit(same).kind, EventKind::kAccepted);
  lift.run();
}

TEST(Deadline, WhatHasBecomeHopelessInTheQueueIsNeverPrefilled) {
  Lift lift(deadlines());
  lift.submit(request(4, 30));
  lift.step();
  const Event late = lift.submit(until(3'000'000));
  lift.now_ns = 1'900'000;
  lift.step();
  EXPECT_TRUE(lift.scheduler.live(late.request));
  lift.now_ns = 2'000'000;  // less than a step and four tokens before the deadline
  lift.step();
  const auto ends = lift.all(EventKind::kFinished);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].sequence, late.sequence);
  EXPECT_EQ(ends[0].finish, FinishReason::kDeadline);
  EXPECT_THAT(boarding_order(lift), ElementsAre(1));
  lift.run();
}

TEST(Deadline, UnderEveryOrderWorkEndsWhenItsDeadlineHasPassedInWhateverPhase) {
  for (const Order order : {Order::kFcfs, Order::kPriority, Order::kFair, Order::kMultilevel}) {
    Config config = config_ordered(order, kOneSeat);
    config.limits.step_tokens = 8;
    Lift lift(config);
    EXPECT_EQ(lift.submit(until(1)).refusal, Refusal::kDeadlineHopeless);
    const Event decodes = lift.submit(until(100));
    const Event queued = lift.submit(until(200));
    lift.step();
    lift.now_ns = 100;
    lift.step();
    EXPECT_FALSE(lift.scheduler.live(decodes.request));
    lift.now_ns = 200;
    lift.step();  // in the queue or just aboard
    EXPECT_FALSE(lift.scheduler.live(queued.request));
    const Event prefills = lift.submit(until(500, 20));
    lift.step();
    lift.now_ns = 500;
    lift.plan();
    lift.commit();
    EXPECT_FALSE(lift.scheduler.live(prefills.request));
    EXPECT_TRUE(lift.scheduler.idle());
  }
}

// ---- multilevel

TEST(Multilevel, ALongJobSinksAndAShortOneTakesItsSeat) {
  Config config = config_ordered(Order::kMultilevel, kOneSeat);
  config.tuning.quantum_ns = 4;
  config.cost = {.step_ns = 1, .token_ps = 1, .context_ps = 0, .chunk_context_ps = 0};
  Lift lift(config);
  lift.submit(request(4, 60));
  for (int step = 0; step < 10; ++step) lift.step();
  const Event quick = lift.submit(request(4, 3, 50));
  const Plan& plan = lift.step();
  ASSERT_EQ(plan.preempted.size(), 1u);
  EXPECT_EQ(plan.run[0].sequence, quick.sequence);
  lift.run();
  EXPECT_EQ(lift.said[1], lift.model.alone(Lift::prompt(4), 0, 60));
}

TEST(Multilevel, AJobJoinsAtTheLevelThatHoldsItsPrompt) {
  Config config = config_ordered(Order::kMultilevel, kOneSeat);
  config.tuning.quantum_ns = 10;
  config.cost = {.step_ns = 2, .token_ps = 1000, .context_ps = 0, .chunk_context_ps = 0};
  Lift lift(config);
  lift.submit(request(40, 3));      // 42 ns: the quantum of level 3 is 80
  lift.submit(request(4, 3, 100));  // 6 ns: level 0
  lift.step();
  EXPECT_THAT(boarding_order(lift), ElementsAre(2));
  lift.run();
}

TEST(Multilevel, WhoeverHasWaitedForPromotionJoinsAnew) {
  Config config = config_ordered(Order::kMultilevel, kOneSeat);
  config.tuning.quantum_ns = 4;
  config.tuning.promotion_ns = 60;
  config.limits.protect_after = 100;
  config.cost = {.step_ns = 1, .token_ps = 1, .context_ps = 0, .chunk_context_ps = 0};
  Lift lift(config);
  const Event big = lift.submit(request(4, 30));
  int steps = 0;
  while (lift.scheduler.live(big.request) && ++steps < 2000) {
    lift.submit(request(4, 3, 50));  // alone enough to fill the seat
    lift.step();
  }
  EXPECT_LT(steps, 1000);
  lift.run();
}

}  // namespace
}  // namespace paternoster::scheduler
