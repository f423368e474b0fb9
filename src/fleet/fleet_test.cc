// The fleet's stories.
#include "fleet/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/check.h"
#include "fleet/presets.h"

namespace paternoster::fleet {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

Config sliced(std::string_view preset = "scls") {
  Limits limits;
  limits.instances = 2;
  limits.slice_tokens = 10;
  limits.max_batch = 4;
  return *config_of(preset, limits);
}

Request request(std::uint64_t id, std::int32_t prompt = 5, std::int32_t most = 25) {
  return {.id = RequestId{id}, .prompt_tokens = prompt, .max_tokens = most, .choices = 1, .prefix = {}};
}

// All members produce as much as they may.
SliceResult full(const Plan& plan, const Batch& batch) {
  SliceResult result{batch.id, batch.iterations, {}};
  for (const Member& member : plan.members_of(batch)) {
    result.members.push_back({member.request, member.most_tokens, false});
  }
  return result;
}

TEST(Fleet, CutsARequestIntoSlicesAndComputesItAgainForEach) {
  Fleet fleet = *Fleet::create(sliced());
  fleet.submit(0, request(1));
  std::int64_t now_ns = 0;
  std::vector<std::int32_t> inputs;
  for (; !fleet.idle(); now_ns += 10 * kSecond) {
    const Plan& plan = fleet.plan(now_ns);
    ASSERT_EQ(plan.batches.size(), 1u);
    inputs.push_back(plan.members[0].input_tokens);
    const auto events = fleet.commit(now_ns + 1, full(plan, plan.batches[0]));
    ASSERT_EQ(events.size(), 1u);
    if (fleet.idle()) {
      EXPECT_EQ(events[0].finish, FinishReason::kLength);
      EXPECT_EQ(events[0].tokens, 25);
      EXPECT_EQ(events[0].slices, 3);
    }
  }
  EXPECT_EQ(inputs, (std::vector<std::int32_t>{5, 15, 25}));
  EXPECT_EQ(fleet.stats().tokens_prefilled, 45u);
  EXPECT_EQ(fleet.stats().tokens_reprefilled, 40u);
  EXPECT_EQ(fleet.stats().tokens_produced, 25u);
}

TEST(Fleet, KeepsKvBetweenSlicesOnTheSameEngine) {
  Fleet fleet = *Fleet::create(sliced("scls_keep"));
  fleet.submit(0, request(1));
  const Plan& first = fleet.plan(0);
  const InstanceId home = first.batches[0].instance;
  fleet.commit(1, full(first, first.batches[0]));
  EXPECT_EQ(fleet.stats(home).held_tokens, 15);
  const Plan& second = fleet.plan(10 * kSecond);
  EXPECT_EQ(second.batches[0].instance, home);
  EXPECT_TRUE(second.members[0].kept);
  EXPECT_EQ(fleet.stats().tokens_reprefilled, 0u);
}

TEST(Fleet, DropsTheYoungestKvWhenTheOldestNeedsRoomToGrow) {
  Config config = sliced("scls_keep");
  config.limits.instances = 1;
  config.memory.kv_tokens = 30;
  Fleet fleet = *Fleet::create(config);
  fleet.submit(0, request(1, 5, 25));
  fleet.submit(0, request(2, 4, 20));
  const Plan& first = fleet.plan(0);
  ASSERT_EQ(first.members.size(), 2u);  // 15 + 14 of 30
  fleet.commit(1, full(first, first.batches[0]));
  const Plan& second = fleet.plan(10 * kSecond);
  ASSERT_EQ(second.members.size(), 1u);  // 25 for the older: 14 more have no room
  EXPECT_EQ(second.members[0].request, RequestId{1});
  ASSERT_EQ(second.drops.size(), 1u);
  EXPECT_EQ(second.drops[0].request, RequestId{2});
  EXPECT_EQ(second.reason, WaitReason::kNoMemory);
  EXPECT_EQ(fleet.stats().kv_dropped, 1u);
}

TEST(Fleet, CountsPaddingInvalidTokensAndEarlyReturns) {
  Fleet fleet = *Fleet::create(sliced("so"));
  fleet.submit(0, request(1, 5));
  fleet.submit(0, request(2, 8));
  const Plan& plan = fleet.plan(0);
  ASSERT_EQ(plan.batches.size(), 1u);
  EXPECT_EQ(fleet.stats().tokens_padded, 3u);
  fleet.commit(1, {plan.batches[0].id, 6, {{RequestId{1}, 2, true}, {RequestId{2}, 6, true}}});
  EXPECT_EQ(fleet.stats().tokens_invalid, 4u);
  EXPECT_EQ(fleet.stats().early_returns, 1u);
  EXPECT_TRUE(fleet.idle());
}

TEST(Fleet, ADeadEnginesWorkGoesOnElsewhereWithWhatWasHeard) {
  Limits limits;
  limits.instances = 2;
  Fleet fleet = *Fleet::create(*config_of("spread", limits));
  fleet.submit(0, request(1, 5, 25));
  const Batch sent = fleet.plan(0).batches[0];
  fleet.progress(RequestId{1}, 7);
  const auto lost = fleet.set_instance(1, sent.instance, InstanceState::kDead);
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].kind, EventKind::kSliceLost);
  EXPECT_EQ(lost[0].tokens, 7);
  const Plan& plan = fleet.plan(2);
  ASSERT_EQ(plan.batches.size(), 1u);
  EXPECT_NE(plan.batches[0].instance, sent.instance);
  EXPECT_EQ(plan.members[0].input_tokens, 12);
  EXPECT_EQ(plan.members[0].most_tokens, 18);
  // What the dead one says later is passed over.
  EXPECT_TRUE(fleet.commit(3, {sent.id, 25, {{RequestId{1}, 25, false}}}).empty());
  EXPECT_EQ(fleet.commit(4, {plan.batches[0].id, 18, {{RequestId{1}, 18, false}}})[0].tokens, 25);
}

TEST(Fleet, ARequestThatKillsEngineAfterEngineIsEnded) {
  Config config = *config_of("spread", {});
  config.limits.max_failures = 2;
  Fleet fleet = *Fleet::create(config);
  fleet.submit(0, request(1));
  for (int death = 1; death <= 3; ++death) {
    ASSERT_EQ(fleet.plan(death).batches.size(), 1u);
    const auto events = fleet.set_instance(death, InstanceId{0}, InstanceState::kDead);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, death == 3 ? EventKind::kFinished : EventKind::kSliceLost);
    EXPECT_EQ(events[0].finish, death == 3 ? FinishReason::kFailed : FinishReason::kNone);
    fleet.set_instance(death, InstanceId{0}, InstanceState::kAlive);
  }
  EXPECT_TRUE(fleet.idle());
}

TEST(Fleet, WhoOnlyQueuedBehindTheCulpritIsNotBlamed) {
  Config config = sliced("so");
  config.limits.instances = 1;
  config.limits.max_batch = 1;
  config.limits.max_failures = 0;
  Fleet fleet = *Fleet::create(config);
  fleet.submit(0, request(1));
  fleet.submit(0, request(2));
  ASSERT_EQ(fleet.plan(0).batches.size(), 2u);
  fleet.set_instance(1, InstanceId{0}, InstanceState::kDead);
  EXPECT_FALSE(fleet.live(RequestId{1}));
  EXPECT_TRUE(fleet.live(RequestId{2}));
}

TEST(Fleet, WaitsWhileNoEngineTakesWorkAndSaysSo) {
  Fleet fleet = *Fleet::create(*config_of("spread", {}));
  fleet.set_instance(0, InstanceId{0}, InstanceState::kDraining);
  fleet.submit(0, request(1));
  EXPECT_EQ(fleet.plan(0).reason, WaitReason::kNoInstance);
  EXPECT_EQ(fleet.last_plan().waiting, 1);
  fleet.set_instance(1, InstanceId{0}, InstanceState::kAlive);
  EXPECT_EQ(fleet.plan(1).batches.size(), 1u);
}

TEST(Fleet, TheAdaptiveIntervalFollowsTheLeastLoad) {
  Config config = sliced();
  config.limits.interval_ns = kSecond;
  config.time.prefill_base_ps = 10 * kSecond * 1000;
  config.time.prefill_token_ps = 0;
  Fleet fleet = *Fleet::create(config);
  fleet.submit(0, request(1));
  fleet.plan(0);  // one engine has 10 s and something, the other nothing: Gamma
  fleet.submit(1, request(2));
  EXPECT_EQ(fleet.plan(1).reason, WaitReason::kInterval);
  EXPECT_EQ(fleet.last_plan().next_ns, kSecond);
  EXPECT_EQ(fleet.plan(kSecond).batches.size(), 1u);  // now both have: half of it
  fleet.submit(kSecond + 1, request(3));
  const std::int64_t least_ns = std::min(fleet.stats(InstanceId{0}).load_ns, fleet.stats(InstanceId{1}).load_ns);
  EXPECT_EQ(fleet.plan(kSecond + 1).next_ns, kSecond + least_ns / 2);
}

TEST(Fleet, WhenIdleGivesEachEngineOneBatchAndTheOldestGoFirst) {
  Config config = sliced("so");
  config.choices.dispatch = Dispatch::kWhenIdle;
  config.limits.max_batch = 1;
  Fleet fleet = *Fleet::create(config);
  for (std::uint64_t id = 1; id <= 3; ++id) fleet.submit(0, request(id));
  const Plan& plan = fleet.plan(0);
  ASSERT_EQ(plan.batches.size(), 2u);
  EXPECT_EQ(plan.members[0].request, RequestId{1});
  EXPECT_EQ(plan.members[1].request, RequestId{2});
  EXPECT_EQ(plan.reason, WaitReason::kAllBusy);
}

TEST(Fleet, CancelsInThePoolAndOnAnEngine) {
  Fleet fleet = *Fleet::create(sliced("so"));
  fleet.submit(0, request(1));
  fleet.submit(0, request(2));
  const Batch sent = fleet.plan(0).batches[0];
  fleet.submit(1, request(3));
  EXPECT_EQ(fleet.cancel(1, RequestId{3})[0].finish, FinishReason::kCancelled);
  EXPECT_EQ(fleet.cancel(1, RequestId{1}).size(), 1u);
  EXPECT_TRUE(fleet.cancel(1, RequestId{1}).empty());
  EXPECT_EQ(fleet.stats().batches, 1);
  const auto events = fleet.commit(2, {sent.id, 10, {{RequestId{1}, 10, false}, {RequestId{2}, 10, true}}});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].request, RequestId{2});
  fleet.submit(3, request(4));
  ASSERT_EQ(fleet.plan(10 * kSecond).batches.size(), 1u);
  fleet.cancel(10 * kSecond, RequestId{4});
  EXPECT_EQ(fleet.stats().batches, 0);  // nobody is left in it
  EXPECT_EQ(check(fleet), std::nullopt);
}

TEST(Fleet, RefusesWhatCanNeverBe) {
  Config config = sliced();
  config.memory.kv_tokens = 100;
  config.limits.max_queue = 1;
  Fleet fleet = *Fleet::create(config);
  EXPECT_EQ(fleet.submit(0, request(1, 0))[0].refusal, Refusal::kInvalid);
  EXPECT_EQ(fleet.submit(0, request(1, 5, 0))[0].refusal, Refusal::kInvalid);
  EXPECT_EQ(fleet.submit(0, request(1, 80, 21))[0].refusal, Refusal::kNeverFits);
  EXPECT_EQ(fleet.submit(0, request(1, 80, 20))[0].kind, EventKind::kAccepted);
  EXPECT_EQ(fleet.submit(0, request(2))[0].refusal, Refusal::kQueueFull);
  fleet.drain();
  EXPECT_EQ(fleet.submit(0, request(2))[0].refusal, Refusal::kDraining);
}

TEST(FleetChoices, ACombinationThatMeansNothingIsRefusedWithItsReason) {
  Config config;
  config.choices.between = Between::kKeep;
  EXPECT_THAT(validate(config).error().message, HasSubstr("give slice_tokens"));
  config.limits.slice_tokens = 64;
  EXPECT_TRUE(validate(config).has_value());
  config.limits.instances = 0;
  EXPECT_THAT(validate(config).error().message, HasSubstr("instances is 0, must be from 1"));
  config.limits.instances = 1;
  config.memory.rules = {{512, 4}, {512, 2}};
  EXPECT_THAT(validate(config).error().message, HasSubstr("total_length of a memory rule"));
}

TEST(FleetChoices, WordsAreReadBackAndWrongOnesAnsweredWithTheWordsThereAre) {
  for (const Placement placement : {Placement::kRoundRobin, Placement::kLeastLoaded, Placement::kPrefixAware,
                                    Placement::kMaxMin}) {
    EXPECT_EQ(*placement_of(to_string(placement)), placement);
  }
  EXPECT_THAT(placement_of("best").error().message, HasSubstr("round_robin, least_loaded, prefix, max_min"));
  EXPECT_THAT(config_of("scsl", {}).error().message, HasSubstr("sls, so, pm, ab, lb, scls"));
}

}  // namespace
}  // namespace paternoster::fleet
