#include "scheduler/choice_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/presets.h"

namespace paternoster::scheduler {
namespace {

TEST(ChoiceNames, EveryPresetIsSpelledByItsNames) {
  for (const Preset& preset : presets()) {
    const ChoiceNames names{to_string(preset.choices.boarding), to_string(preset.choices.order),
                            to_string(preset.choices.prefill), to_string(preset.choices.relief),
                            to_string(preset.choices.victim)};
    const auto chosen = choose(preset.name, names);
    ASSERT_TRUE(chosen) << chosen.error().message;
    EXPECT_EQ(*chosen, preset.choices) << preset.name;
  }
}

TEST(ChoiceNames, SingleChoicesGoOverThePreset) {
  const auto chosen = choose("orca", {.order = "priority", .relief = "recompute"});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->boarding, Boarding::kContinuous);
  EXPECT_EQ(chosen->prefill, Prefill::kWhole);
  EXPECT_EQ(chosen->order, Order::kPriority);
  EXPECT_EQ(chosen->relief, Relief::kRecompute);
}

TEST(ChoiceNames, AnUnknownNameIsAnsweredWithThoseThereAre) {
  const auto wrong = choose("orca", {.order = "random"});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, ::testing::HasSubstr("no order 'random'; there are fcfs, priority"));
  EXPECT_FALSE(choose("orca", {.boarding = ""}));  // set, and to nothing
  EXPECT_FALSE(choose("nobody", ChoiceNames{}));
  EXPECT_FALSE(choose("orca", {.relief = "Reserve"}));
}

}  // namespace
}  // namespace paternoster::scheduler
