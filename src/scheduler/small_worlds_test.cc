// Every interleaving of small worlds under every valid combination of choices, exhaustively: three
// requests, four blocks, two seats. PATERNOSTER_NIGHTLY=1 walks eight steps and every cast; without
// it fewer steps.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "scheduler/presets.h"
#include "scheduler/testing/small_world.h"

namespace paternoster::scheduler {
namespace {

using testing::SmallWorld;

bool nightly() { return std::getenv("PATERNOSTER_NIGHTLY") != nullptr; }

Request rider(std::vector<TokenId> prompt, std::int32_t max_tokens, std::int32_t priority,
              std::uint32_t tenant) {
  Request request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.priority = priority;
  request.tenant = TenantId{tenant};
  return request;
}

// Together each cast wants more than the pool has.
std::vector<std::vector<Request>> casts() {
  std::vector<Request> plain{rider({1, 2, 1}, 4, 1, 1), rider({2, 1, 1, 2, 1}, 3, 2, 2),
                             rider({2, 2}, 5, 0, 1)};
  // A shared prefix, siblings and a deadline.
  std::vector<Request> related{rider({1, 2, 1}, 4, 1, 1), rider({1, 2, 1, 1}, 3, 1, 1),
                               rider({1, 2, 2}, 3, 0, 2)};
  related[1].choices = 2;
  related[2].deadline_ns = 75;
  related[0].expected_tokens = 2;
  return {plain, related};
}

Config small(const Choices& choices) {
  Config config;
  config.choices = choices;
  config.limits = {.max_seqs = 2,
                   .step_tokens = 4,
                   .block_size = 2,
                   .num_blocks = 4,
                   .max_len = 9,
                   .max_queue = 8,
                   .max_choices = 2,
                   .protect_after = 2,
                   .swap_blocks = 3};
  config.tuning.window_ns = 20;
  config.tuning.window_seqs = 2;
  config.tuning.slice_tokens = 2;
  config.tuning.itl_target_ns = 18;
  config.tuning.ageing_ns = 40;
  config.tuning.promotion_ns = 60;
  config.tuning.quantum_ns = 6;
  config.cost = {.step_ns = 10,
                 .token_ps = 3000,
                 .context_ps = 100,
                 .chunk_context_ps = 100,
                 .swap_block_ns = 3};
  return config;
}

// All that validate() lets pass.
std::vector<Config> combinations() {
  std::vector<Config> valid;
  for (int boarding = 0; boarding < 6; ++boarding) {
    for (int order = 0; order < 6; ++order) {
      for (int prefill = 0; prefill < 4; ++prefill) {
        for (int relief = 0; relief < 4; ++relief) {
          for (int victim = 0; victim < (relief == 0 ? 1 : 2); ++victim) {
            const Config config =
                small({static_cast<Boarding>(boarding), static_cast<Order>(order),
                       static_cast<Prefill>(prefill), static_cast<Relief>(relief),
                       static_cast<Victim>(victim)});
            if (validate(config)) valid.push_back(config);
          }
        }
      }
    }
  }
  return valid;
}

std::string words(const Choices& choices) {
  return std::string(to_string(choices.boarding)) + " " + to_string(choices.order) + " " +
         to_string(choices.prefill) + " " + to_string(choices.relief) + " " +
         to_string(choices.victim);
}

// Walks both casts to their ends.
void walk(const std::vector<Config>& configs, int steps) {
  std::uint64_t ends = 0;
  for (const std::vector<Request>& cast : casts()) {
    for (const Config& config : configs) {
      ASSERT_EQ(SmallWorld(config, cast).explore(steps, ends), "") << words(config.choices);
    }
  }
  std::cout << configs.size() << " combinations, " << ends << " interleavings of " << steps
            << " steps, each to its end\n";
}

TEST(SmallWorlds, HoldEveryInvariantInEveryInterleavingUnderEveryCombinationOfChoices) {
  const auto all = combinations();
  EXPECT_EQ(all.size(), 693u);
  walk(all, nightly() ? 8 : 3);
}

TEST(SmallWorlds, HoldEveryInvariantInLongerOnesUnderEveryPreset) {
  std::vector<Config> configs;
  for (const Preset& preset : presets()) configs.push_back(small(preset.choices));
  walk(configs, nightly() ? 8 : 5);
}

TEST(SmallWorlds, HoldEveryInvariantWhenEverybodyGuesses) {
  auto all = combinations();
  for (Config& config : all) {
    config.choices.speculation = Speculation::kNgram;
    config.cost.token_ps = 1000;  // so that guesses pay
  }
  walk(all, nightly() ? 6 : 2);
}

}  // namespace
}  // namespace paternoster::scheduler
