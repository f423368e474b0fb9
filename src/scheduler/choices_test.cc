#include "scheduler/choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/presets.h"

namespace paternoster::scheduler {
namespace {

using ::testing::HasSubstr;

TEST(Choices, TheDefaultsAreValidAndAreTheDefaultPreset) {
  EXPECT_TRUE(validate(Config{}).has_value());
  EXPECT_EQ(*choices_of(kDefaultPreset), Choices{});
}

TEST(Choices, ALimitOutOfRangeIsNamedWithItsRange) {
  Config config;
  config.limits.max_seqs = 64;
  config.limits.step_tokens = 63;
  const auto valid = validate(config);
  ASSERT_FALSE(valid.has_value());
  EXPECT_THAT(valid.error().message, HasSubstr("step_tokens is 63, must be from 64"));
  config.limits.step_tokens = 64;
  EXPECT_TRUE(validate(config).has_value());
  config.limits.num_blocks = 0;
  EXPECT_THAT(validate(config).error().message, HasSubstr("num_blocks"));
}

TEST(Presets, AnUnknownNameIsAnsweredWithTheNamesThereAre) {
  const auto unknown = choices_of("vlm");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(unknown.error().message, HasSubstr("static, orca, vllm"));
}

}  // namespace
}  // namespace paternoster::scheduler
