#include "scheduler/choice_names.h"
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

// Why each pair of choices is refused, beside the presets, which all go together.
TEST(Choices, CombinationsThatUndoEachOtherAreRefusedWithTheReason) {
  for (const Preset& preset : presets()) {
    Config config;
    config.choices = preset.choices;
    EXPECT_TRUE(validate(config).has_value()) << preset.name;
  }
  Config config;
  config.choices.boarding = Boarding::kWindow;
  config.choices.order = Order::kMultilevel;
  EXPECT_THAT(validate(config).error().message, HasSubstr("a closed batch gives none up"));
  config.choices.order = Order::kPriority;
  config.choices.prefill = Prefill::kLatencyTarget;
  EXPECT_THAT(validate(config).error().message, HasSubstr("no prompts beside its streams"));
  config.choices.boarding = Boarding::kSlicedKeep;
  config.choices.prefill = Prefill::kWhole;
  EXPECT_TRUE(validate(config).has_value());
  config.limits.prefix_cache = false;
  EXPECT_THAT(validate(config).error().message, HasSubstr("prefix cache, which is off"));
}

TEST(Choices, FiguresOutOfRangeAreNamed) {
  Config config;
  config.tuning.slice_tokens = 0;
  EXPECT_THAT(validate(config).error().message, HasSubstr("slice_tokens is 0, must be from 1"));
  config.tuning = {};
  config.tuning.cached_charge = config.tuning.prompt_charge + 1;
  EXPECT_THAT(validate(config).error().message, HasSubstr("cached_charge"));
  config.tuning = {};
  config.cost.token_ps = 0;
  EXPECT_THAT(validate(config).error().message, HasSubstr("token_ps"));
}

TEST(Presets, AnUnknownNameIsAnsweredWithTheNamesThereAre) {
  const auto unknown = choices_of("vlm");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(unknown.error().message, HasSubstr("window, orca, vllm"));
}

TEST(ChoiceNames, AreListedOnceEach) {
  EXPECT_EQ(boarding_names(), "static, continuous, static_global, window, sliced, sliced_keep");
  EXPECT_EQ(order_names(), "fcfs, priority, shortest, deadline, fair, multilevel");
  EXPECT_EQ(prefill_names(), "whole, chunked, stall_free, latency_target");
  EXPECT_EQ(relief_names(), "reserve, recompute, swap, auto");
  EXPECT_EQ(victim_names(), "latest, least_work");
}

}  // namespace
}  // namespace paternoster::scheduler
