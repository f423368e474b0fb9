// Random scripts against the invariants and the paper model. PATERNOSTER_SEED repeats a failure.
#include <gtest/gtest.h>

#include <iostream>

#include "base/testing/script_bytes.h"
#include "scheduler/journal.h"
#include "scheduler/testing/script.h"

namespace paternoster::scheduler {
namespace {

using testing::Script;

constexpr std::uint64_t kStream = 1;

struct Sum {
  std::uint64_t steps = 0, preemptions = 0, recomputed = 0, swapped = 0, slices = 0,
                invalid = 0, hits = 0, forked = 0, copies = 0, drafted = 0, accepted = 0;
};

// One script of `verbs` verbs under `config`; false with the reason printed.
void run_script(const Config& config, std::uint64_t seed, int verbs, Sum& sum) {
  auto source = std::make_shared<RandomBytes>(seed, kStream);
  Script script(config, [source] { return (*source)(); });
  for (int verb = 0; verb < verbs && script.act(); ++verb) {
  }
  script.finish();
  ASSERT_EQ(script.failure(), "")
      << "PATERNOSTER_SEED=" << seed << " " << to_string(config.choices.boarding) << " "
      << to_string(config.choices.order) << " " << to_string(config.choices.prefill) << " "
      << to_string(config.choices.relief) << " " << to_string(config.choices.victim);
  const Stats stats = script.stats();
  sum.steps += stats.steps;
  sum.preemptions += stats.preemptions;
  sum.recomputed += stats.tokens_recomputed;
  sum.swapped += stats.blocks_swapped_in;
  sum.slices += stats.slices;
  sum.invalid += stats.tokens_invalid;
  sum.hits += stats.prefix_hits;
  sum.forked += stats.tokens_forked;
  sum.copies += stats.blocks_copied;
  sum.drafted += stats.tokens_drafted;
  sum.accepted += stats.tokens_accepted;
  const auto again = replay(script.journal().bytes());
  ASSERT_TRUE(again.has_value()) << again.error().message << " PATERNOSTER_SEED=" << seed;
  ASSERT_EQ(again->plans, stats.steps);
  ASSERT_FALSE(again->first_difference.has_value()) << "PATERNOSTER_SEED=" << seed;
}

TEST(SchedulerProperty, HoldsEveryInvariantOnRandomScriptsOfAllChoicesAndReplaysThem) {
  const std::uint64_t seed = first_seed();
  std::cout << "PATERNOSTER_SEED=" << seed << "\n";
  Sum sum;
  const std::uint64_t steps = std::getenv("PATERNOSTER_NIGHTLY") != nullptr ? 1'000'000 : 120'000;
  for (std::uint64_t round = 0; sum.steps < steps; ++round) {
    RandomBytes source{seed + round, kStream};
    const Config config = Script::config_of([&] { return source(); });
    ASSERT_NO_FATAL_FAILURE(run_script(config, seed + round, 150, sum));
  }
  std::cout << sum.steps << " steps, " << sum.preemptions << " preemptions, " << sum.recomputed
            << " tokens recomputed, " << sum.swapped << " blocks swapped in, " << sum.slices
            << " slices, " << sum.invalid << " tokens invalid, " << sum.hits << " cached, " << sum.forked << " forked, "
            << sum.copies << " blocks copied, " << sum.drafted << " tokens guessed, "
            << sum.accepted << " of them right\n";
  EXPECT_GT(sum.preemptions, 1000u);  // the scripts reach what they are for
  EXPECT_GT(sum.recomputed, 1000u);
  EXPECT_GT(sum.swapped, 500u);
  EXPECT_GT(sum.slices, 500u);
  EXPECT_GT(sum.invalid, 500u);
  EXPECT_GT(sum.hits, 1000u);
  EXPECT_GT(sum.copies, 100u);
  EXPECT_GT(sum.accepted, 500u);
  EXPECT_GT(sum.drafted, sum.accepted + 500);
}

class PresetProperty : public ::testing::TestWithParam<Preset> {};

TEST_P(PresetProperty, HoldsEveryInvariantInATinyPool) {
  const std::uint64_t seed = first_seed();
  std::cout << "PATERNOSTER_SEED=" << seed << "\n";
  Sum sum;
  for (std::uint64_t round = 0; sum.steps < 20000; ++round) {
    Config config;
    config.choices = GetParam().choices;
    config.limits = {.max_seqs = 4,
                     .step_tokens = 16,
                     .block_size = 4,
                     .num_blocks = 14,
                     .max_len = 40,
                     .max_queue = 10,
                     .max_choices = 5,
                     .protect_after = 2};
    ASSERT_NO_FATAL_FAILURE(run_script(config, seed + round, 300, sum));
  }
}

INSTANTIATE_TEST_SUITE_P(Presets, PresetProperty,
                         ::testing::ValuesIn(presets().begin(), presets().end()),
                         [](const auto& preset) { return std::string(preset.param.name); });

}  // namespace
}  // namespace paternoster::scheduler
