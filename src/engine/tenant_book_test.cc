#include "engine/tenant_book.h"

#include <gtest/gtest.h>

namespace paternoster::engine {
namespace {

TEST(TenantBook, GivesEachNameOneNumberAndNobodyZero) {
  TenantBook book;
  const TenantId alice = book.enter("alice").id;
  EXPECT_EQ(book.enter("").id, TenantId{0});
  EXPECT_NE(book.enter("bob").id, alice);
  EXPECT_EQ(book.enter("alice").id, alice);
}

TEST(TenantBook, TellsWhenAWeightIsNew) {
  TenantBook book;
  EXPECT_FALSE(book.enter("alice").weighs_anew);
  EXPECT_TRUE(book.enter("alice", 3).weighs_anew);
  EXPECT_FALSE(book.enter("alice", 3).weighs_anew);
  EXPECT_TRUE(book.enter("bob", 2).weighs_anew);
}

TEST(TenantBook, ForgetsOnlyThoseWithoutCallsWhenThereAreTooMany) {
  TenantBook book;
  const TenantId alice = book.enter("alice").id;
  for (std::size_t i = 0; i < 3 * TenantBook::kMostIdle; ++i) {
    const std::string name = "user" + std::to_string(i);
    book.enter(name);
    book.leave(name);
    ASSERT_LE(book.size(), TenantBook::kMostIdle);
  }
  EXPECT_EQ(book.enter("alice").id, alice);
}

}  // namespace
}  // namespace paternoster::engine
