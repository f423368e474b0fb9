#include "base/random.h"

#include <gtest/gtest.h>

namespace paternoster {
namespace {

// Known answers of Random123's kat_vectors for philox4x32-10.
TEST(Philox, MatchesThePublishedVectors) {
  const std::array<std::uint32_t, 4> zeros{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u};
  EXPECT_EQ(philox(0, 0, 0), zeros);
  const std::array<std::uint32_t, 4> ones{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu};
  EXPECT_EQ(philox(~0ull, ~0ull, ~0ull), ones);
}

TEST(Philox, StreamsOfOneSeedDiffer) {
  EXPECT_NE(random_u64(7, 0, 0), random_u64(7, 1, 0));
  EXPECT_NE(random_u64(7, 0, 0), random_u64(7, 0, 1));
  EXPECT_EQ(random_u64(7, 3, 5), random_u64(7, 3, 5));
}

}  // namespace
}  // namespace paternoster
