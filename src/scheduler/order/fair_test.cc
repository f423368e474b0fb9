// The Virtual Token Counter: shares by weight, and the paper's bound on random backlogs.
#include "scheduler/order/fair.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "scheduler/presets.h"
#include "scheduler/state.h"
#include "scheduler/testing/lift.h"

namespace paternoster::scheduler {
namespace {

using testing::Lift;

Config fair_config() {
  Config config;
  config.choices.order = Order::kFair;
  config.limits = {.max_seqs = 4,
                   .step_tokens = 32,
                   .block_size = 4,
                   .num_blocks = 48,
                   .max_len = 64,
                   .max_queue = 100000,
                   .prefix_cache = false};
  return config;
}

Request of(std::uint32_t tenant, std::size_t prompt, std::int32_t max_tokens) {
  Request made;
  made.prompt = Lift::prompt(prompt, static_cast<TokenId>(tenant) * 100);
  made.max_tokens = max_tokens;
  made.tenant = TenantId{tenant};
  return made;
}

// Service told by events alone, as the paper counts it: prompt tokens at the first seat, output
// tokens as they come.
struct Service {
  std::map<std::uint64_t, std::uint32_t> tenant_of;  // by request
  std::map<std::uint64_t, std::int64_t> prompt_of;
  std::map<std::uint32_t, std::int64_t> got;
  std::size_t heard = 0;

  void submit(Lift& lift, Request request) {
    tenant_of[lift.last_request + 1] = request.tenant.value;
    prompt_of[lift.last_request + 1] = static_cast<std::int64_t>(request.prompt.size());
    lift.submit(std::move(request));
  }
  void hear(const Lift& lift, const Tuning& tuning) {
    for (; heard < lift.events.size(); ++heard) {
      const Event& event = lift.events[heard];
      std::int64_t& service = got[tenant_of[event.request.value]];
      if (event.kind == EventKind::kToken) service += tuning.output_charge;
      if (event.kind != EventKind::kAdmitted || event.resumed) continue;
      const std::int64_t computed = prompt_of[event.request.value] - event.count;
      service += computed * tuning.prompt_charge + event.count * tuning.cached_charge;
    }
  }
};

TEST(Fair, ATenantOfManyRequestsDoesNotKeepOneOfFewWaiting) {
  Lift lift(fair_config());
  for (int at = 0; at < 50; ++at) lift.submit(of(1, 8, 20));
  for (int step = 0; step < 30; ++step) lift.step();
  const Event one = lift.submit(of(2, 8, 5));
  while (lift.scheduler.live(one.request)) {
    lift.step();
    // It is next: of the others only those who ran already finish before it boards.
    ASSERT_TRUE(lift.scheduler.last_plan().admitted.empty() ||
                lift.scheduler.last_plan().admitted[0].sequence == one.sequence ||
                !lift.said[one.sequence.value].empty());
  }
  EXPECT_GT(lift.scheduler.stats().waiting, 20);
  EXPECT_EQ(lift.reason_of(SequenceId{50}), WaitReason::kTenantShare);
  lift.run();
}

TEST(Fair, BackloggedTenantsNeverDifferByMoreThanThePapersBound) {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    const Config config = fair_config();
    Lift lift(config);
    Service service;
    std::int64_t longest = 0;
    for (std::uint64_t at = 0; at < 400; ++at) {
      const std::uint64_t random = random_u64(seed, 7, at);
      const auto tenant = static_cast<std::uint32_t>(at % 3 + 1);
      // Tenant 1 sends long prompts, 2 long answers, 3 a mix.
      const std::size_t prompt = tenant == 1 ? 30 + random % 10 : 1 + random % 10;
      const auto output = static_cast<std::int32_t>(tenant == 1 ? 1 + random % 3 : 1 + random % 20);
      longest = std::max<std::int64_t>(longest, static_cast<std::int64_t>(prompt));
      service.submit(lift, of(tenant, prompt, output));
    }
    const std::int64_t pool = std::int64_t{config.limits.num_blocks} * config.limits.block_size;
    const std::int64_t bound = 2 * std::max(config.tuning.prompt_charge * longest,
                                            config.tuning.output_charge * pool);
    // Any interval: the difference now less the difference at its beginning. So the range over time
    // of each pair's difference is what the bound is about.
    std::map<std::pair<int, int>, std::pair<std::int64_t, std::int64_t>> ranges;
    int steps = 0;
    const auto backlogged = [&] {
      for (std::uint32_t tenant = 1; tenant <= 3; ++tenant) {
        bool waits = false;
        const State& state = lift.scheduler.state();
        for (Slot slot = 0; slot < state.sequences.size(); ++slot) {
          const Sequence& sequence = state.sequences[slot];
          waits |= sequence.state == SequenceState::kWaiting &&
                   service.tenant_of[state.groups[sequence.group].id.value] == tenant;
        }
        if (!waits) return false;
      }
      return true;
    };
    while (backlogged()) {
      lift.step();
      ++steps;
      service.hear(lift, config.tuning);
      for (int left = 1; left <= 3; ++left) {
        for (int right = left + 1; right <= 3; ++right) {
          const std::int64_t difference = service.got[left] - service.got[right];
          auto& [least, most] = ranges[{left, right}];
          least = std::min(least, difference);
          most = std::max(most, difference);
          ASSERT_LE(most - least, bound) << left << " and " << right << " at step " << steps;
        }
      }
    }
    EXPECT_GT(steps, 200);
    // In fact far closer here: a seat's worth.
    for (const auto& [pair, range] : ranges) EXPECT_LT(range.second - range.first, bound / 4);
    lift.run();
  }
}

TEST(Fair, ServiceGoesByWeight) {
  const Config config = fair_config();
  Lift lift(config);
  ASSERT_TRUE(lift.scheduler.set_weight(0, TenantId{1}, 30).has_value());
  ASSERT_TRUE(lift.scheduler.set_weight(0, TenantId{2}, 10).has_value());
  EXPECT_FALSE(lift.scheduler.set_weight(0, TenantId{2}, 0).has_value());
  EXPECT_FALSE(lift.scheduler.set_weight(0, TenantId{2}, 1001).has_value());
  Service service;
  for (int at = 0; at < 400; ++at) {
    service.submit(lift, of(1, 6, 10));
    service.submit(lift, of(2, 6, 10));
  }
  for (int step = 0; step < 800; ++step) lift.step();
  service.hear(lift, config.tuning);
  // 3 to 1 within ten percent.
  EXPECT_GT(service.got[1] * 10, service.got[2] * 27);
  EXPECT_LT(service.got[1] * 10, service.got[2] * 33);
  lift.run();
}

// One tenant with 16 clients that ask for 1,000 tokens at a time, one whose single client asks for
// 50: where seats are not the limit, the single client hardly notices the others.
TEST(Fair, ASingleClientBesideAHeavyTenantTakesAtMostTwiceAsManyStepsAsAlone) {
  for (const char* preset : {"vtc", "home"}) {
    Config config;
    config.choices = *choices_of(preset);
    config.tuning.itl_target_ns = 1'000'000'000'000;
    config.limits = {.max_seqs = 32,
                     .step_tokens = 256,
                     .block_size = 16,
                     .num_blocks = 512,
                     .max_len = 1200,
                     .prefix_cache = false};
    const auto steps_for = [&](int heavy_clients) {
      Lift lift(config);
      for (int at = 0; at < heavy_clients; ++at) lift.submit(of(1, 100, 1000));
      for (int warm = 0; warm < 40; ++warm) lift.step();
      std::vector<int> taken;
      for (int turn = 0; turn < 12; ++turn) {
        const Event one = lift.submit(of(2, 40, 50));
        int steps = 0;
        while (lift.scheduler.live(one.request) && ++steps < 5000) lift.step();
        taken.push_back(steps);
        for (int live = lift.scheduler.stats().live_requests; live < heavy_clients; ++live) {
          lift.submit(of(1, 100, 1000));
        }
      }
      std::ranges::sort(taken);
      return taken[11];
    };
    EXPECT_LE(steps_for(16), 2 * steps_for(0)) << preset;
  }
}

TEST(Fair, IdleTimeSavesUpNothing) {
  Lift lift(fair_config());
  lift.submit(of(2, 4, 2));  // comes once and goes
  lift.run();
  for (int at = 0; at < 200; ++at) lift.submit(of(1, 6, 10));
  for (int step = 0; step < 200; ++step) lift.step();
  Service service;
  service.heard = lift.events.size();
  for (std::uint64_t at = 1; at <= lift.last_request; ++at) service.tenant_of[at] = 1;
  for (int at = 0; at < 100; ++at) service.submit(lift, of(2, 6, 10));
  for (int step = 0; step < 100; ++step) lift.step();
  service.hear(lift, lift.scheduler.config().tuning);
  EXPECT_GT(service.got[1] * 2, service.got[2]);  // no backlog of idle time to be paid back
  lift.run();
}

TEST(Fair, WorkIsConservedAndPreemptedWorkIsPaidOnce) {
  Config config = fair_config();
  config.limits.num_blocks = 16;
  Lift lift(config);
  for (int at = 0; at < 12; ++at) lift.submit(of(1 + at % 2, 8, 40));
  std::int64_t expected = 0;
  while (!lift.scheduler.idle()) {
    lift.step();
    // A free seat and somebody waiting means that blocks are short.
    const Stats stats = lift.scheduler.stats();
    if (stats.running < 2 && stats.waiting > 0 && lift.scheduler.last_plan().preempted.empty()) {
      ASSERT_GT(stats.waiting_by_reason[static_cast<std::size_t>(WaitReason::kNoBlocks)] +
                    stats.waiting_by_reason[static_cast<std::size_t>(WaitReason::kTenantShare)],
                0);
    }
  }
  EXPECT_GT(lift.scheduler.stats().tokens_recomputed, 50u);
  // Both got the same and paid the same: prompts and outputs once, whoever was preempted.
  expected = 6 * (8 * config.tuning.prompt_charge + 40 * config.tuning.output_charge);
  const order::Fair& fair = lift.scheduler.state().queue.fair();
  const std::int64_t unit = (std::int64_t{1} << 20) / order::Fair::kDefaultWeight;
  for (order::Fair::Lane lane = 0; lane < 2; ++lane) {
    EXPECT_NEAR(static_cast<double>(fair.counter(lane)) / static_cast<double>(unit),
                static_cast<double>(expected), static_cast<double>(expected) / 100);
  }
}

TEST(Fair, CachedPromptsAreChargedLess) {
  Config config = fair_config();
  config.limits.prefix_cache = true;
  Lift lift(config);
  lift.submit(of(1, 33, 1));
  lift.run();
  const order::Fair& fair = lift.scheduler.state().queue.fair();
  const std::int64_t first = fair.counter(0);
  lift.submit(of(1, 33, 1));
  lift.run();
  EXPECT_LT(fair.counter(0) - first, first / 3);
}

TEST(Fair, TenantsThatAreGoneAreForgotten) {
  order::Fair fair;
  for (std::uint32_t tenant = 1; tenant <= 20000; ++tenant) {
    const auto lane = fair.enter(TenantId{tenant});
    fair.push(0, lane, tenant, true);
    fair.charge(lane, 5);
    fair.remove(0);
    fair.leave(lane);
  }
  EXPECT_LE(fair.tenants(), order::Fair::kMostIdle);
}

}  // namespace
}  // namespace paternoster::scheduler
