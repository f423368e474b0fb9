#include "fleet/placement/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "fleet/known_prefixes.h"
#include "fleet/prefix_chain.h"

namespace paternoster::fleet {
namespace {

using placement::Engine;
using placement::View;

std::vector<Engine> engines(std::vector<std::int64_t> loads) {
  std::vector<Engine> list;
  for (std::uint32_t at = 0; at < loads.size(); ++at) {
    list.push_back({InstanceId{at}, loads[at], loads[at] > 0 ? 1 : 0, 0});
  }
  return list;
}

// The makespan of tasks placed one by one, in the order that the policy asks for.
std::int64_t makespan(Placement placement, std::vector<std::int64_t> tasks, std::size_t machines) {
  if (placement::largest_first(placement)) std::ranges::sort(tasks, std::greater());
  auto list = engines(std::vector<std::int64_t>(machines));
  View view;
  for (const std::int64_t task : tasks) {
    view.engines = list;
    view.estimate_ns = task;
    const std::size_t chosen = placement::choose(placement, view);
    list[chosen].load_ns += task;
    ++list[chosen].requests;
    view.last = list[chosen].id;
    view.any_before = true;
  }
  return std::ranges::max(list, {}, &Engine::load_ns).load_ns;
}

std::int64_t best_makespan(const std::vector<std::int64_t>& tasks, std::size_t at, std::vector<std::int64_t>& loads) {
  if (at == tasks.size()) return std::ranges::max(loads);
  std::int64_t best = INT64_MAX;
  for (std::int64_t& load : loads) {
    load += tasks[at];
    best = std::min(best, best_makespan(tasks, at + 1, loads));
    load -= tasks[at];
  }
  return best;
}

TEST(MaxMin, StaysWithinFourThirdsOfTheBestMakespan) {
  int worse = 0;
  for (std::uint64_t round = 0; round < 200; ++round) {
    const std::size_t machines = 2 + random_u64(3, 0, round) % 2;
    std::vector<std::int64_t> tasks(1 + random_u64(3, 1, round) % 8);
    for (std::size_t at = 0; at < tasks.size(); ++at) {
      tasks[at] = 1 + static_cast<std::int64_t>(random_u64(3, 2 + at, round) % 30);
    }
    std::vector<std::int64_t> loads(machines);
    const std::int64_t best = best_makespan(tasks, 0, loads);
    const std::int64_t found = makespan(Placement::kMaxMin, tasks, machines);
    const auto m = static_cast<std::int64_t>(machines);
    EXPECT_LE(found * 3 * m, (4 * m - 1) * best) << "round " << round;  // 4/3 - 1/(3m), Graham 1969
    worse += makespan(Placement::kRoundRobin, tasks, machines) > found ? 1 : 0;
  }
  EXPECT_GT(worse, 60);  // what it is for
}

TEST(MaxMin, MeetsGrahamsWorstCaseExactly) {
  EXPECT_EQ(makespan(Placement::kMaxMin, {3, 3, 2, 2, 2}, 2), 7);  // the best is 6: 7/6 = 4/3 - 1/6
}

TEST(RoundRobin, TakesTurnsAndPassesOverWhoIsMissing) {
  auto list = engines({9, 0, 0});
  View view;
  view.engines = list;
  EXPECT_EQ(placement::choose(Placement::kRoundRobin, view), 0u);
  view.any_before = true;
  view.last = InstanceId{1};
  EXPECT_EQ(placement::choose(Placement::kRoundRobin, view), 2u);
  view.last = InstanceId{2};
  EXPECT_EQ(placement::choose(Placement::kRoundRobin, view), 0u);
  list.erase(list.begin() + 1);
  view.engines = list;
  view.last = InstanceId{0};
  EXPECT_EQ(list[placement::choose(Placement::kRoundRobin, view)].id, InstanceId{2});
}

TEST(LeastLoaded, SharesEqualLoadsInTurn) {
  const auto list = engines({0, 0, 0});
  View view;
  view.engines = list;
  view.last = InstanceId{0};
  view.any_before = true;
  EXPECT_EQ(placement::choose(Placement::kLeastLoaded, view), 1u);
  view.last = InstanceId{2};
  EXPECT_EQ(placement::choose(Placement::kLeastLoaded, view), 0u);
}

TEST(LeastLoaded, CountsRequestsWhereMaxMinCountsEstimatedTime) {
  auto list = engines({500, 90});
  list[0].requests = 1;
  list[1].requests = 3;
  View view;
  view.engines = list;
  EXPECT_EQ(placement::choose(Placement::kLeastLoaded, view), 0u);
  EXPECT_EQ(placement::choose(Placement::kMaxMin, view), 1u);
}

TEST(PrefixAware, PrefersWhoKnowsMostUntilTheSlackIsSpent) {
  auto list = engines({40, 0, 40});
  list[0].known_blocks = 3;
  list[2].known_blocks = 5;
  View view;
  view.engines = list;
  view.estimate_ns = 40;
  view.beginning = 77;
  view.slack_permille = 250;
  EXPECT_EQ(placement::choose(Placement::kPrefixAware, view), 2u);
  list[2].load_ns = 80;  // more than 1.25 x (160 / 3)
  EXPECT_EQ(placement::choose(Placement::kPrefixAware, view), 0u);
  list[0].load_ns = 120;
  list[2].load_ns = 120;
  EXPECT_EQ(placement::choose(Placement::kPrefixAware, view), 1u);
}

TEST(PrefixAware, NoLoadExceedsTheBoundHoweverPopularAPrefix) {
  auto list = engines({0, 0, 0, 0});
  View view;
  view.engines = list;
  view.beginning = 5;
  view.slack_permille = 250;
  list[1].known_blocks = 9;
  for (std::uint64_t round = 0; round < 300; ++round) {
    view.estimate_ns = 1 + static_cast<std::int64_t>(random_u64(5, 0, round) % 100);
    const std::size_t chosen = placement::choose(Placement::kPrefixAware, view);
    list[chosen].load_ns += view.estimate_ns;
    std::int64_t total = 0;
    for (const Engine& engine : list) total += engine.load_ns;
    EXPECT_LE((list[chosen].load_ns - view.estimate_ns) * 16, 5 * total + 100);  // 1.25 x average, rounded up
  }
  EXPECT_GT(list[1].load_ns, list[0].load_ns);  // and it is preferred
}

TEST(PrefixAware, ABeginningComesBackToTheSameIdleEngine) {
  const auto list = engines({0, 0, 0, 0});
  std::vector<std::size_t> chosen;
  for (std::uint64_t beginning = 1; beginning <= 40; ++beginning) {
    View view;
    view.engines = list;
    view.estimate_ns = 9;
    view.beginning = beginning;
    chosen.push_back(placement::choose(Placement::kPrefixAware, view));
    view.last = InstanceId{static_cast<std::uint32_t>(beginning % 4)};
    view.any_before = true;
    EXPECT_EQ(placement::choose(Placement::kPrefixAware, view), chosen.back());
  }
  for (std::size_t engine = 0; engine < 4; ++engine) EXPECT_GT(std::ranges::count(chosen, engine), 2);
}

TEST(KnownPrefixes, RemembersTheNewestAndForgetsLongTailsFirst) {
  KnownPrefixes known(4);
  known.remember(std::vector<std::uint64_t>{1, 2, 3});
  EXPECT_EQ(known.match(std::vector<std::uint64_t>{1, 2, 9}), 2u);
  EXPECT_EQ(known.match(std::vector<std::uint64_t>{2}), 1u);
  known.remember(std::vector<std::uint64_t>{7, 8});
  EXPECT_EQ(known.match(std::vector<std::uint64_t>{1, 2, 3}), 2u);
  EXPECT_EQ(known.match(std::vector<std::uint64_t>{7, 8}), 2u);
  EXPECT_LE(known.size(), 4u);
  known.forget_all();
  EXPECT_EQ(known.match(std::vector<std::uint64_t>{1}), 0u);
}

TEST(KnownPrefixes, WhatIsGivenAgainIsNewAgain) {
  KnownPrefixes known(3);
  for (const std::uint64_t entry : {1, 2, 1, 3, 4}) known.remember(std::vector<std::uint64_t>{entry});
  EXPECT_EQ(known.match(std::vector<std::uint64_t>{1}), 1u);
  EXPECT_EQ(known.match(std::vector<std::uint64_t>{2}), 0u);
}

TEST(PrefixChain, IsEqualAsFarAsPromptsBeginAlike) {
  const std::vector<TokenId> a{1, 2, 3, 4, 5, 6, 7};
  const std::vector<TokenId> b{1, 2, 3, 4, 5, 9, 7};
  const auto chain = prefix_chain(a, 2, 8, 0);
  const auto other = prefix_chain(b, 2, 8, 0);
  ASSERT_EQ(chain.size(), 3u);  // whole blocks only
  EXPECT_EQ(chain[1], other[1]);
  EXPECT_NE(chain[2], other[2]);
  EXPECT_NE(chain[0], prefix_chain(a, 2, 8, 1)[0]);
  EXPECT_EQ(prefix_chain(a, 2, 1, 0).size(), 1u);
}

}  // namespace
}  // namespace paternoster::fleet
