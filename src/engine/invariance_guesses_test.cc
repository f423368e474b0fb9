// Invariance under guessing ahead: the same answers with guesses, right or wrong, as without.
#include <gtest/gtest.h>

#include <string>

#include "engine/testing/invariance.h"

namespace paternoster::engine {
namespace {

// Guesses that cost nothing, so that as many are made as can be.
scheduler::Config guessing(scheduler::Config config) {
  config.choices.speculation = scheduler::Speculation::kNgram;
  config.tuning.draft_seqs = 16;
  config.cost.token_ps = 1;
  config.cost.context_ps = config.cost.chunk_context_ps = 0;
  return config;
}

TEST_P(Invariance, WithGuesses) {
  for (const std::int32_t tokens : {16, 512}) {
    run_together(guessing(config_of(16, tokens)), pool_, "guesses, step of " + std::to_string(tokens));
  }
}

TEST_P(Invariance, WithGuessesPreemptedAtRandomSteps) {
  for (const auto relief : {scheduler::Relief::kRecompute, scheduler::Relief::kSwap}) {
    scheduler::Config config = guessing(config_of(6, 48));
    config.choices.relief = relief;
    config.limits.swap_blocks = 64;
    config.limits.prefix_cache = true;
    Drive drive(model_->packed, pool_, config);
    const auto ids = submit(drive, in_order());
    preempt_at_random(drive);
    expect_equal(drive, ids, std::string("guesses, ") + scheduler::to_string(relief));
  }
}

// Texts that say the same several times, so that many guesses come true: greedy, seeded, with penalties,
// bias and an end that must not come too early.
TEST_P(Invariance, WithGuessesThatComeTrue) {
  const std::vector<TokenId> text = licence_tokens(model_->tokenizer);
  riders_.clear();
  for (std::size_t i = 0; i < 6; ++i) {
    Rider rider;
    for (int time = 0; time < 3; ++time) {
      const auto from = text.begin() + static_cast<std::ptrdiff_t>(300 * i);
      rider.prompt.insert(rider.prompt.end(), from, from + (time < 2 ? 40 : 12));
    }
    rider.max_tokens = small() ? 12 : 24;
    rider.params.logprobs = true;
    rider.params.top_logprobs = 2;
    rider.params.seed = 50 + i;
    rider.params.temperature = i % 2 == 0 ? 0.0f : 0.4f;
    if (i == 2) rider.params.frequency_penalty = 0.2f;
    if (i == 3) rider.params.repetition_penalty = 1.05f;
    if (i == 4) rider.params.logit_bias = {{text[0], 2.0f}};
    if (i == 5) {
      rider.params.min_tokens = 4;
      rider.params.ends = {text[1500 + 20], text[1500 + 25]};
    }
    riders_.push_back(std::move(rider));
  }
  std::vector<std::vector<Answer>> alone;  // by rider and choice
  for (const Rider& rider : riders_) {
    Drive drive(model_->packed, pool_, config_of(2, 512));
    const auto id = drive.submit(numbers_of(rider), rider.max_tokens, 2);
    drive.run();
    alone.push_back({answer_of(drive.choices(id)[0]), answer_of(drive.choices(id)[1])});
  }
  Drive drive(model_->packed, pool_, guessing(config_of(16, 64)));
  std::vector<std::uint64_t> ids;
  for (const Rider& rider : riders_) ids.push_back(drive.submit(numbers_of(rider), rider.max_tokens, 2));
  drive.run();
  for (std::size_t i = 0; i < riders_.size(); ++i) {
    for (std::size_t choice = 0; choice < 2; ++choice) {
      EXPECT_EQ(answer_of(drive.choices(ids[i])[choice]), alone[i][choice]) << "rider " << i << ", choice " << choice;
    }
  }
  const scheduler::Stats stats = drive.scheduler().stats();
  EXPECT_GT(stats.tokens_accepted, 20u);
  EXPECT_GT(stats.tokens_drafted, stats.tokens_accepted);  // and some do not
}

}  // namespace
}  // namespace paternoster::engine
