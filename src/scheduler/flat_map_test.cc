#include "scheduler/flat_map.h"

#include <gtest/gtest.h>

#include <unordered_map>

#include "base/random.h"

namespace paternoster::scheduler {
namespace {

TEST(FlatMap, AgreesWithTheStandardMapOverRandomPutsAndErasures) {
  FlatMap map(1);
  std::unordered_map<std::uint64_t, std::uint32_t> standard;
  for (std::uint64_t turn = 0; turn < 20000; ++turn) {
    const std::uint64_t random = random_u64(3, 0, turn);
    const std::uint64_t key = (random >> 8) % 300;
    if (random % 3 == 0) {
      EXPECT_EQ(map.erase(key), standard.erase(key) == 1);
    } else {
      map.put(key, static_cast<std::uint32_t>(turn));
      standard[key] = static_cast<std::uint32_t>(turn);
    }
    const std::uint64_t asked = (random >> 32) % 300;
    const auto expected = standard.find(asked);
    const std::uint32_t* found = map.find(asked);
    ASSERT_EQ(found != nullptr, expected != standard.end());
    if (found != nullptr) {
      ASSERT_EQ(*found, expected->second);
    }
    ASSERT_EQ(map.size(), standard.size());
  }
}

}  // namespace
}  // namespace paternoster::scheduler
