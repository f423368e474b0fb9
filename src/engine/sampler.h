// From a row of logits to a token, and to the log-probabilities a client asked for.
//
// The order of what is applied: logit bias, the ban on ending too early, penalties, temperature,
// min_p, top_k, top_p. Log-probabilities are the model's own, before any of this. Random numbers are
// a pure function of (seed, choice, position), and exponentials and sums have one order everywhere:
// who else is served, preemption and the instruction set cannot change what is drawn.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "kernels/vocabulary.h"

namespace paternoster::engine {

// What one request wants; the caller has checked the ranges. Token ids lie inside the vocabulary.
struct SamplingParams {
  float temperature = 1.0f;  // below kGreedyTemperature: the most likely token
  float top_p = 1.0f;        // 1: off
  std::int32_t top_k = 0;    // 0: off
  float min_p = 0.0f;        // 0: off
  float repetition_penalty = 1.0f;  // of tokens in prompt or output
  float presence_penalty = 0.0f;    // of tokens in the output
  float frequency_penalty = 0.0f;
  std::vector<std::pair<TokenId, float>> logit_bias;
  std::int32_t min_tokens = 0;     // before so many, no token of `ends` is drawn
  bool ignore_eos = false;         // the model's own end tokens do not end (they may be drawn)
  std::vector<TokenId> ends;       // tokens that end the sequence
  std::uint64_t seed = 0;
  bool logprobs = false;
  std::int32_t top_logprobs = 0;

  static constexpr float kGreedyTemperature = 1e-5f;
  bool ends_with(TokenId token) const { return std::find(ends.begin(), ends.end(), token) != ends.end(); }
  bool greedy() const { return temperature < kGreedyTemperature; }
  bool has_penalties() const {
    return repetition_penalty != 1.0f || presence_penalty != 0.0f || frequency_penalty != 0.0f;
  }
};

// How often each token has occurred: for penalties only.
class TokenCounts {
 public:
  void add_prompt(std::span<const TokenId> tokens);
  void add_output(TokenId token) { ++counts_[token].output; }
  void apply(const SamplingParams& params, std::span<float> logits) const;

 private:
  struct Count {
    bool in_prompt = false;
    std::int32_t output = 0;
  };
  std::unordered_map<TokenId, Count> counts_;
};

struct Logprob {
  TokenId token = -1;
  float logprob = 0;
};

struct Drawn {
  TokenId token = -1;
  Logprob chosen;             // with params.logprobs
  std::vector<Logprob> top;   // best first
};

// Where a token is drawn: what the random number is a function of.
struct DrawPoint {
  std::int32_t choice = 0;
  std::int32_t position = 0;  // of the new token in its sequence, prompt included
  std::int32_t output = 0;    // tokens drawn before
};

// Reusable memory of one thread.
class Sampler {
 public:
  // `best` is the argmax of the untouched logits, which are scratch afterwards. counts may be null
  // without penalties.
  void draw(const SamplingParams& params, const DrawPoint& point, const TokenCounts* counts,
            std::span<float> logits, TokenId best, Drawn& drawn);

  // The log-probability of `token` and the `top` best: for prompt tokens.
  void score(std::span<const float> logits, TokenId token, std::int32_t top, Drawn& drawn);

 private:
  void adjust(const SamplingParams& params, const DrawPoint& point, const TokenCounts* counts,
              std::span<float> logits);
  void score(std::span<const float> logits, float normaliser, TokenId token, std::int32_t top,
             Drawn& drawn);
  TokenId draw_random(const SamplingParams& params, double uniform, std::span<const float> logits,
                      float largest);
  double weigh_candidates(float largest, float inverse_temperature);
  TokenId draw_from_best(const SamplingParams& params, double uniform, double known, double total) const;
  TokenId draw_from_all(double uniform);

  std::vector<kernels::ScoredToken> candidates_;  // best first
  std::vector<float> candidate_logits_;
  std::vector<float> candidate_weights_;
  std::vector<float> weights_;     // of the whole vocabulary
  std::vector<double> stretches_;  // sums of its parts
  std::vector<float> raw_;         // logits before they were adjusted
};

}  // namespace paternoster::engine
