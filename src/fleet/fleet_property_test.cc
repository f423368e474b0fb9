// Random scripts of all choices against the invariants. PATERNOSTER_SEED repeats a failure.
#include <gtest/gtest.h>

#include <iostream>
#include <memory>

#include "base/testing/script_bytes.h"
#include "fleet/presets.h"
#include "fleet/testing/script.h"

namespace paternoster::fleet {
namespace {

using testing::Script;

constexpr std::uint64_t kStream = 2;

std::uint64_t run_script(const Config& config, std::uint64_t seed, int verbs, Stats& sum) {
  auto source = std::make_shared<RandomBytes>(seed, kStream);
  Script script(config, [source] { return (*source)(); });
  for (int verb = 0; verb < verbs && script.act(); ++verb) {
  }
  script.finish();
  EXPECT_EQ(script.failure(), "") << "PATERNOSTER_SEED=" << seed;
  const Stats stats = script.stats();
  sum.batches_sent += stats.batches_sent;
  sum.slices_lost += stats.slices_lost;
  sum.early_returns += stats.early_returns;
  sum.tokens_invalid += stats.tokens_invalid;
  sum.tokens_padded += stats.tokens_padded;
  sum.tokens_reprefilled += stats.tokens_reprefilled;
  sum.kv_dropped += stats.kv_dropped;
  return script.digest();
}

TEST(FleetProperty, HoldsEveryInvariantOnRandomScriptsOfAllChoicesAndRepeatsThem) {
  const std::uint64_t seed = first_seed();
  std::cout << "PATERNOSTER_SEED=" << seed << "\n";
  Stats sum;
  for (std::uint64_t round = 0; sum.batches_sent < 60000 && !HasFailure(); ++round) {
    RandomBytes source{seed + round, kStream};
    const Config config = Script::config_of([&] { return source(); });
    Stats again;
    const std::uint64_t digest = run_script(config, seed + round, 300, sum);
    if (round % 16 != 0) continue;
    EXPECT_EQ(digest, run_script(config, seed + round, 300, again));
  }
  std::cout << sum.batches_sent << " batches, " << sum.slices_lost << " slices lost, " << sum.kv_dropped
            << " KV dropped\n";
  EXPECT_GT(sum.slices_lost, 1000u);  // the scripts reach what they are for
  EXPECT_GT(sum.early_returns, 1000u);
  EXPECT_GT(sum.tokens_invalid, 1000u);
  EXPECT_GT(sum.tokens_padded, 1000u);
  EXPECT_GT(sum.tokens_reprefilled, 1000u);
  EXPECT_GT(sum.kv_dropped, 100u);
}

class FleetPresets : public ::testing::TestWithParam<Preset> {};

TEST_P(FleetPresets, HoldsEveryInvariant) {
  const std::uint64_t seed = first_seed();
  Limits limits;
  limits.instances = 3;
  limits.slice_tokens = 8;
  limits.max_batch = 4;
  limits.interval_ns = 30;
  Config config = *config_of(GetParam().name, limits);
  config.memory.kv_tokens = 160;
  Stats sum;
  for (std::uint64_t round = 0; sum.batches_sent < 4000 && !HasFailure(); ++round) {
    run_script(config, seed + round, 400, sum);
  }
}

INSTANTIATE_TEST_SUITE_P(Presets, FleetPresets, ::testing::ValuesIn(presets().begin(), presets().end()),
                         [](const auto& preset) { return std::string(preset.param.name); });

}  // namespace
}  // namespace paternoster::fleet
