#include "server/key_limits.h"

#include <gtest/gtest.h>

namespace paternoster::server {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

KeyTerms terms(std::int32_t concurrent, std::int64_t tokens_per_minute) {
  KeyTerms made;
  made.name = "alice";
  made.most_concurrent = concurrent;
  made.tokens_per_minute = tokens_per_minute;
  return made;
}

TEST(KeyLimits, CountsRequestsAtOnce) {
  KeyLimits limits;
  EXPECT_FALSE(limits.begin(terms(2, 0), 0));
  EXPECT_FALSE(limits.begin(terms(2, 0), 0));
  const auto refused = limits.begin(terms(2, 0), 0);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->code, "tenant_queue_full");
  limits.end("alice");
  EXPECT_FALSE(limits.begin(terms(2, 0), 0));
}

TEST(KeyLimits, WaitsUntilTheDebtIsPaid) {
  KeyLimits limits;
  const KeyTerms sixty = terms(0, 60);  // one a second
  EXPECT_FALSE(limits.begin(sixty, 0));
  limits.charge("alice", 90);
  limits.end("alice");
  const auto refused = limits.begin(sixty, 10 * kSecond);  // 60 - 90 + 10 = -20
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, "rate_limited");
  EXPECT_EQ(refused->retry_after_ms, 21'000);
  EXPECT_FALSE(limits.begin(sixty, 31 * kSecond));
}

TEST(KeyLimits, SavesUpNoMoreThanAMinute) {
  KeyLimits limits;
  const KeyTerms sixty = terms(0, 60);
  EXPECT_FALSE(limits.begin(sixty, 0));
  EXPECT_FALSE(limits.begin(sixty, 3600 * kSecond));
  limits.charge("alice", 61);
  EXPECT_TRUE(limits.begin(sixty, 3600 * kSecond));
}

TEST(KeyLimits, BeginsFullWhenALimitIsNew) {
  KeyLimits limits;
  EXPECT_FALSE(limits.begin(terms(0, 0), 0));
  limits.charge("alice", 100'000);
  EXPECT_FALSE(limits.begin(terms(0, 60), kSecond));
  limits.charge("unknown", 5);  // ended after its key was taken away
  limits.end("unknown");
}

}  // namespace
}  // namespace paternoster::server
