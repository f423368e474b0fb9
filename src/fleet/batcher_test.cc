#include "fleet/batcher.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace paternoster::fleet {
namespace {

struct World {
  TimeModel time;
  MemoryModel memory;
  CutRules rules;
  std::vector<Item> items;

  explicit World(std::vector<std::int32_t> lengths, std::int32_t slice = 8) {
    for (const std::int32_t length : lengths) add(length, slice);
    rules.time = &time;
    rules.memory = &memory;
    rules.max_batch = 4;
  }
  void add(std::int32_t length, std::int32_t iterations) {
    const auto at = static_cast<std::uint32_t>(items.size());
    items.push_back({at, at + 1, 1, length, iterations, iterations});
  }
  std::vector<Group> cut(Batching batching) {
    std::vector<Group> groups;
    Batcher().cut(batching, rules, items, groups);
    return groups;
  }
};

std::int64_t sum_ns(const std::vector<Group>& groups) {
  std::int64_t sum = 0;
  for (const Group& group : groups) sum += group.estimate_ns;
  return sum;
}

std::vector<std::uint32_t> sizes(const std::vector<Group>& groups) {
  std::vector<std::uint32_t> sizes;
  for (const Group& group : groups) sizes.push_back(group.count);
  return sizes;
}

// The least sum over every way to cut the sorted items: 2^(n-1) of them.
std::int64_t brute_force_ns(const World& world, const std::vector<Item>& sorted) {
  const std::size_t count = sorted.size();
  std::int64_t best_ns = INT64_MAX;
  for (std::uint32_t cuts = 0; cuts < (1u << (count - 1)); ++cuts) {
    std::int64_t total_ns = 0;
    bool valid = true;
    for (std::size_t first = 0; first < count && valid;) {
      std::size_t end = first + 1;
      while (end < count && (cuts >> (end - 1) & 1) == 0) ++end;
      Shape shape{static_cast<std::int64_t>(end - first), sorted[end - 1].input, 0};
      std::int64_t expected = 0;
      for (std::size_t at = first; at < end; ++at) {
        shape.iterations = std::max<std::int64_t>(shape.iterations, sorted[at].iterations);
        expected = std::max<std::int64_t>(expected, sorted[at].expected);
      }
      valid = end - first == 1 || (std::cmp_less_equal(end - first, world.rules.max_batch) &&
                                   fits(world.memory, shape));
      shape.iterations = expected;
      total_ns += serve_ns(world.time, shape);
      first = end;
    }
    if (valid) best_ns = std::min(best_ns, total_ns);
  }
  return best_ns;
}

TEST(Batcher, AdaptiveCutsAsCheaplyAsTheBestOfAllCuts) {
  std::uint64_t counter = 0;
  const auto draw = [&](std::int64_t most) {
    return static_cast<std::int32_t>(random_u64(7, 0, counter++) % static_cast<std::uint64_t>(most));
  };
  int cut_between = 0;
  for (int round = 0; round < 300; ++round) {
    World world({});
    const int count = 1 + draw(10);
    for (int at = 0; at < count; ++at) world.add(1 + draw(500), 1 + draw(16));
    world.rules.max_batch = 1 + draw(6);
    world.memory.kv_tokens = 600 + draw(3000);
    if (draw(2) == 0) world.memory.rules = {{100 + draw(200), 4}, {400, 2}};
    world.time.prefill_base_ps = 1'000'000 * std::int64_t{draw(2000)};
    world.time.decode_base_ps = 1'000'000 * std::int64_t{draw(2000)};
    const auto groups = world.cut(Batching::kAdaptive);
    EXPECT_EQ(sum_ns(groups), brute_force_ns(world, world.items)) << "round " << round;
    cut_between += groups.size() > 1 && std::cmp_less(groups.size(), count) ? 1 : 0;
  }
  EXPECT_GT(cut_between, 50);  // the rounds reach what they are for
}

TEST(Batcher, AdaptiveSeparatesWhatWouldOnlyBePadded) {
  // One long prompt among short ones: padding three to 2000 costs more than a second start.
  World world({10, 10, 10, 2000});
  EXPECT_EQ(sizes(world.cut(Batching::kAdaptive)), (std::vector<std::uint32_t>{3, 1}));
  World alike({10, 10, 10, 12});
  EXPECT_EQ(sizes(alike.cut(Batching::kAdaptive)), (std::vector<std::uint32_t>{4}));
}

TEST(Batcher, FixedKeepsTheOrderOfArrivalAndSortedDoesNot) {
  World world({100, 1, 90, 2});
  world.rules.max_batch = 2;
  auto groups = world.cut(Batching::kFixed);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].padded_input, 100);
  EXPECT_EQ(groups[1].padded_input, 90);
  groups = world.cut(Batching::kSorted);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].padded_input, 2);
  EXPECT_EQ(groups[1].padded_input, 100);
}

TEST(Batcher, SoloNeverJoins) {
  World world({5, 5, 5});
  EXPECT_EQ(sizes(world.cut(Batching::kSolo)), (std::vector<std::uint32_t>{1, 1, 1}));
}

TEST(Batcher, MemoryEndsABatchAndPagedMemoryEndsItLater) {
  World world({10, 10, 100}, 10);
  world.memory.kv_tokens = 250;
  EXPECT_EQ(sizes(world.cut(Batching::kFixed)), (std::vector<std::uint32_t>{2, 1}));
  world.rules.paged = true;  // 20 + 20 + 110 are really held
  world.rules.kv_tokens = 150;
  EXPECT_EQ(sizes(world.cut(Batching::kFixed)), (std::vector<std::uint32_t>{3}));
  world.rules.kv_tokens = 149;
  EXPECT_EQ(sizes(world.cut(Batching::kFixed)), (std::vector<std::uint32_t>{2, 1}));
}

TEST(Batcher, WhatIsKeptCostsNoPrefill) {
  World world({50}, 4);
  EXPECT_EQ(world.cut(Batching::kAdaptive)[0].estimate_ns, serve_ns(world.time, {1, 50, 4}));
  world.rules.prefills = false;
  EXPECT_EQ(world.cut(Batching::kAdaptive)[0].estimate_ns, decode_ns(world.time, {1, 50, 4}));
}

}  // namespace
}  // namespace paternoster::fleet
