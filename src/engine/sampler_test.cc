#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace paternoster::engine {
namespace {

// Token i has the logit log(weight): weights are the distribution at temperature 1.
std::vector<float> logits_of(const std::vector<double>& weights) {
  std::vector<float> logits;
  for (const double weight : weights) logits.push_back(static_cast<float>(std::log(weight)));
  return logits;
}

std::map<TokenId, int> draw_many(SamplingParams params, const std::vector<float>& logits, int times) {
  Sampler sampler;
  std::map<TokenId, int> seen;
  for (int i = 0; i < times; ++i) {
    std::vector<float> scratch = logits;
    Drawn drawn;
    sampler.draw(params, {.choice = 0, .position = i, .output = 0}, nullptr, scratch,
                 kernels::argmax(scratch), drawn);
    ++seen[drawn.token];
  }
  return seen;
}

TEST(Sampler, DrawsInProportion) {
  const auto seen = draw_many({.seed = 3}, logits_of({5, 3, 2}), 10000);
  EXPECT_NEAR(seen.at(0), 5000, 250);
  EXPECT_NEAR(seen.at(1), 3000, 250);
  EXPECT_NEAR(seen.at(2), 2000, 250);
}

TEST(Sampler, TopKTopPAndMinPLeaveTheUnlikelyOut) {
  const auto logits = logits_of({50, 30, 15, 4, 1});
  EXPECT_EQ(draw_many({.top_k = 2, .seed = 1}, logits, 3000).size(), 2u);
  EXPECT_EQ(draw_many({.top_p = 0.85f, .seed = 1}, logits, 3000).size(), 3u);
  EXPECT_EQ(draw_many({.min_p = 0.2f, .seed = 1}, logits, 3000).size(), 3u);
  EXPECT_EQ(draw_many({.temperature = 0.0f, .seed = 1}, logits, 50).size(), 1u);
}

TEST(Sampler, TopPFindsItsSetInALargeVocabulary) {
  std::vector<double> weights(5000, 1.0);  // half of the mass needs 2,500 tokens: more than one try
  const auto seen = draw_many({.top_p = 0.5f, .seed = 1}, logits_of(weights), 300);
  EXPECT_LT(seen.rbegin()->first, 2510);
  EXPECT_GT(seen.rbegin()->first, 2400);
}

TEST(Sampler, TheSamePlaceDrawsTheSameToken) {
  const auto logits = logits_of({1, 1, 1, 1, 1, 1, 1, 1});
  const auto draw = [&](std::uint64_t seed, std::int32_t choice, std::int32_t position) {
    Sampler sampler;
    auto scratch = logits;
    Drawn drawn;
    SamplingParams params;
    params.seed = seed;
    sampler.draw(params, {choice, position, 0}, nullptr, scratch, 0, drawn);
    return drawn.token;
  };
  std::set<std::vector<TokenId>> rows;
  for (std::int32_t choice = 0; choice < 4; ++choice) {
    std::vector<TokenId> row;
    for (std::int32_t position = 0; position < 16; ++position) {
      row.push_back(draw(9, choice, position));
      EXPECT_EQ(row.back(), draw(9, choice, position));
    }
    rows.insert(row);
  }
  EXPECT_EQ(rows.size(), 4u);
}

TEST(Sampler, MinTokensForbidsTheEndsAndBiasesCount) {
  SamplingParams params;
  params.temperature = 0;
  params.ends = {0};
  params.min_tokens = 2;
  params.logit_bias = {{2, 5.0f}};
  params.logprobs = true;
  const auto logits = logits_of({50, 30, 15, 4});
  Sampler sampler;
  Drawn drawn;
  auto scratch = logits;
  sampler.draw(params, {0, 7, 1}, nullptr, scratch, 0, drawn);
  EXPECT_EQ(drawn.token, 2);
  EXPECT_NEAR(drawn.chosen.logprob, std::log(15.0 / 99.0), 1e-5);  // the model's own, not the biased one
  params.logit_bias.clear();
  scratch = logits;
  sampler.draw(params, {0, 8, 2}, nullptr, scratch, 0, drawn);
  EXPECT_EQ(drawn.token, 0);
}

TEST(Sampler, PenaltiesPushDownWhatHasBeenSaid) {
  SamplingParams params;
  params.temperature = 0;
  params.frequency_penalty = 1.0f;
  TokenCounts counts;
  counts.add_output(0);
  Sampler sampler;
  Drawn drawn;
  std::vector<float> logits{2.0f, 1.5f, 0.0f};
  sampler.draw(params, {0, 3, 1}, &counts, logits, 0, drawn);
  EXPECT_EQ(drawn.token, 1);
  params = {.temperature = 0.0f, .repetition_penalty = 2.0f};
  TokenCounts prompt;
  prompt.add_prompt(std::vector<TokenId>{0});
  logits = {2.0f, 1.5f, 0.0f};
  sampler.draw(params, {0, 3, 0}, &prompt, logits, 0, drawn);
  EXPECT_EQ(drawn.token, 1);
}

TEST(Sampler, BrokenLogitsStillGiveAToken) {
  const float nan = std::nanf("");
  const float infinity = INFINITY;
  for (const std::vector<float>& logits : {std::vector<float>{nan, nan, nan}, {-infinity, -infinity, -infinity},
                                           {infinity, 0.0f, 1.0f}, {nan, 1.0f, nan}}) {
    const auto seen = draw_many({.top_p = 0.9f, .seed = 1}, logits, 20);
    EXPECT_GE(seen.begin()->first, 0);
    EXPECT_LT(seen.rbegin()->first, 3);
  }
}

}  // namespace
}  // namespace paternoster::engine
