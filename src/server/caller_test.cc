#include "server/caller.h"

#include <gtest/gtest.h>

namespace paternoster::server {
namespace {

api::Standing standing(const api::Wish& wish, const CallerHeaders& headers = {}, const KeyTerms* terms = nullptr) {
  const auto made = standing_of(wish, headers, terms);
  EXPECT_TRUE(made);
  return made.value_or(api::Standing{});
}

TEST(Caller, ClassesStandForPriorities) {
  api::Wish wish;
  EXPECT_EQ(standing(wish).priority, 0);
  wish.service_class = api::ServiceClass::kFlexible;
  EXPECT_EQ(standing(wish).priority, 1);
  wish.priority = -4;
  EXPECT_EQ(standing(wish).priority, -4);
}

TEST(Caller, HeadersWinOverTheBody) {
  api::Wish wish;
  wish.priority = 5;
  wish.user = "bob";
  CallerHeaders headers;
  headers.objective = "critical";
  headers.fairness_id = "team";
  EXPECT_EQ(standing(wish, headers).priority, -1);
  EXPECT_EQ(standing(wish, headers).tenant, "team");
  headers.priority = "-7";
  EXPECT_EQ(standing(wish, headers).priority, -7);
  headers = {};
  headers.objective = "some-objective-of-a-cluster";
  EXPECT_EQ(standing(wish, headers).priority, 0);
}

TEST(Caller, TheShorterTimeoutCounts) {
  api::Wish wish;
  wish.timeout_ms = 500;
  CallerHeaders headers;
  headers.timeout_ms = "900";
  EXPECT_EQ(standing(wish, headers).timeout_ms, 500);
  headers.timeout_ms = "90";
  EXPECT_EQ(standing(wish, headers).timeout_ms, 90);
  for (const char* wrong : {"0", "-1", "1.5", "1s", "99999999999999999999"}) {
    headers.timeout_ms = wrong;
    EXPECT_FALSE(standing_of(wish, headers, nullptr)) << wrong;
  }
}

TEST(Caller, AKeyIsChargedWhateverItSays) {
  KeyTerms terms;
  terms.name = "alice";
  terms.weight = 3;
  terms.most_urgent = 0;
  api::Wish wish;
  wish.user = "bob";
  wish.priority = -9;
  CallerHeaders headers;
  headers.fairness_id = "carol";
  const api::Standing plain = standing(wish, headers, &terms);
  EXPECT_EQ(plain.owner, "alice");
  EXPECT_EQ(plain.tenant, "alice");
  EXPECT_EQ(plain.weight, 3);
  EXPECT_EQ(plain.priority, 0);
  terms.gateway = true;
  EXPECT_EQ(standing(wish, headers, &terms).tenant, "carol");
  EXPECT_EQ(standing(wish, headers, &terms).weight, 1);
  EXPECT_EQ(standing(wish, {}, &terms).tenant, "bob");
  EXPECT_EQ(standing(wish, headers, &terms).owner, "alice");
}

TEST(Caller, TenantsAreFitForLabels) {
  api::Wish wish;
  wish.user = "a\"b\n<c>\xC3\xA9";
  EXPECT_EQ(standing(wish).tenant, "a?b??c???");
}

}  // namespace
}  // namespace paternoster::server
