#include "engine/kv_budget.h"

#include <gtest/gtest.h>

namespace paternoster::engine {
namespace {

Machine machine_with(std::uint64_t mebibytes) {
  Machine machine;
  machine.available_bytes = mebibytes << 20;
  machine.available_reason = "test";
  return machine;
}

KvCosts costs() { return {.block_bytes = 1 << 20, .block_tokens = 16, .trained_context = 1600,
                          .weight_bytes = std::uint64_t{100} << 20, .scratch_bytes = 0}; }

TEST(KvBudget, ABigMachineGivesEverySeatItsWholeContext) {
  const auto budget = plan_kv({.max_seqs = 4}, costs(), machine_with(10000));
  ASSERT_TRUE(budget);
  EXPECT_EQ(budget->blocks, 400);
  EXPECT_EQ(budget->max_len, 1600);
}

TEST(KvBudget, ASmallMachineGivesHalfOfWhatIsLeft) {
  const auto budget = plan_kv({.max_seqs = 4}, costs(), machine_with(500));
  ASSERT_TRUE(budget);
  EXPECT_EQ(budget->blocks, 200);
  EXPECT_NE(budget->reason.find("weights take 100 MiB"), std::string::npos);
}

TEST(KvBudget, SeveralEnginesShareWhatIsLeft) {
  const auto budget = plan_kv({.max_seqs = 4, .engines = 2}, costs(), machine_with(500));
  ASSERT_TRUE(budget);
  EXPECT_EQ(budget->blocks, 100);
  EXPECT_NE(budget->reason.find("shared by 2 engines"), std::string::npos);
}

TEST(KvBudget, WhatWasNotAskedForIsLoweredUntilItFits) {
  const auto budget = plan_kv({.max_seqs = 4}, costs(), machine_with(200));
  ASSERT_TRUE(budget);
  EXPECT_EQ(budget->blocks, 50);
  EXPECT_EQ(budget->max_len, 800);
}

TEST(KvBudget, WhatWasAskedForButDoesNotFitIsRefused) {
  EXPECT_FALSE(plan_kv({.max_len = 1600, .max_seqs = 4}, costs(), machine_with(200)));
  EXPECT_FALSE(plan_kv({.max_seqs = 4}, costs(), machine_with(90)));
  EXPECT_FALSE(plan_kv({.tokens = 100, .max_seqs = 1}, costs(), machine_with(9000)));
}

TEST(KvBudget, TokensAndBytesAreTakenAtTheirWord) {
  EXPECT_EQ(plan_kv({.tokens = 3201, .max_seqs = 1}, costs(), machine_with(1))->blocks, 201);
  EXPECT_EQ(plan_kv({.bytes = std::uint64_t{300} << 20, .max_seqs = 1}, costs(), machine_with(1))->blocks, 300);
}

}  // namespace
}  // namespace paternoster::engine
