#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace paternoster::engine {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr std::size_t kFirstCandidates = 128;  // usually enough to fill top_p; then four times as many

double uniform_at(std::uint64_t seed, const DrawPoint& point) {
  const std::uint64_t word = random_u64(seed, static_cast<std::uint64_t>(point.choice),
                                        static_cast<std::uint64_t>(point.position));
  return static_cast<double>(word >> 11) * 0x1.0p-53;
}

// The `count` best, best first, the lower token first among equals. kernels::top_k keeps a sorted few
// and is the better one for few; this is for hundreds and thousands. NaN counts as the least.
void select_best(std::span<const float> logits, std::size_t count,
                 std::vector<kernels::ScoredToken>& best) {
  best.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    best.push_back({static_cast<TokenId>(i), std::isnan(logits[i]) ? kNever : logits[i]});
  }
  const auto before = [](const kernels::ScoredToken& a, const kernels::ScoredToken& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  };
  if (count < best.size()) {
    std::nth_element(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(count), best.end(), before);
    best.resize(count);
  }
  std::sort(best.begin(), best.end(), before);
}

}  // namespace

void TokenCounts::add_prompt(std::span<const TokenId> tokens) {
  for (const TokenId token : tokens) counts_[token].in_prompt = true;
}

void TokenCounts::apply(const SamplingParams& params, std::span<float> logits) const {
  for (const auto& [token, count] : counts_) {
    float& logit = logits[static_cast<std::size_t>(token)];
    logit = logit > 0 ? logit / params.repetition_penalty : logit * params.repetition_penalty;
    if (count.output == 0) continue;
    logit -= params.frequency_penalty * static_cast<float>(count.output);
    logit -= params.presence_penalty;
  }
}

void Sampler::adjust(const SamplingParams& params, const DrawPoint& point, const TokenCounts* counts,
                     std::span<float> logits) {
  for (const auto& [token, bias] : params.logit_bias) logits[static_cast<std::size_t>(token)] += bias;
  if (counts != nullptr) counts->apply(params, logits);
  if (point.output < params.min_tokens) {
    for (const TokenId end : params.ends) logits[static_cast<std::size_t>(end)] = kNever;
  }
}

void Sampler::score(std::span<const float> logits, float normaliser, TokenId token, std::int32_t top,
                    Drawn& drawn) {
  drawn.chosen = {token, logits[static_cast<std::size_t>(token)] - normaliser};
  drawn.top.clear();
  if (top <= 0) return;
  kernels::top_k(logits, static_cast<std::size_t>(top), candidates_);
  for (const auto& [candidate, logit] : candidates_) drawn.top.push_back({candidate, logit - normaliser});
}

void Sampler::score(std::span<const float> logits, TokenId token, std::int32_t top, Drawn& drawn) {
  score(logits, kernels::log_sum_exp(logits), token, top, drawn);
}

void Sampler::draw(const SamplingParams& params, const DrawPoint& point, const TokenCounts* counts,
                   std::span<float> logits, TokenId best, Drawn& drawn) {
  drawn = {};
  const bool adjusts = !params.logit_bias.empty() || point.output < params.min_tokens || counts != nullptr;
  if (params.logprobs && adjusts) raw_.assign(logits.begin(), logits.end());
  if (adjusts) {
    adjust(params, point, counts, logits);
    best = kernels::argmax(logits);
  }
  drawn.token = best;
  const float largest = logits[static_cast<std::size_t>(best)];
  if (!params.greedy() && std::isfinite(largest)) {  // else a broken file's numbers: nothing to draw from
    drawn.token = draw_random(params, uniform_at(params.seed, point), logits, largest);
  }
  if (params.logprobs) {
    score(adjusts ? std::span<const float>(raw_) : logits, drawn.token, params.top_logprobs, drawn);
  }
}

TokenId Sampler::draw_random(const SamplingParams& params, double uniform, std::span<const float> logits,
                             float largest) {
  const float inverse_temperature = 1.0f / params.temperature;
  if (params.top_k > 0) {
    kernels::top_k(logits, static_cast<std::size_t>(params.top_k), candidates_);
    return draw_from_best(params, uniform, weigh_candidates(largest, inverse_temperature), 0.0);
  }
  weights_.resize(logits.size());
  const float total = kernels::exponentials(logits, largest, inverse_temperature, weights_.data());
  if (params.min_p <= 0.0f && params.top_p >= 1.0f) return draw_from_all(uniform);
  for (std::size_t count = kFirstCandidates;; count *= 4) {
    select_best(logits, count, candidates_);
    const double known = weigh_candidates(largest, inverse_temperature);
    const bool complete = candidates_.size() >= logits.size() ||
                          candidate_weights_.back() < params.min_p ||
                          (params.min_p <= 0.0f && known >= double{params.top_p} * double{total});
    if (complete) return draw_from_best(params, uniform, known, params.min_p > 0.0f ? 0.0 : total);
  }
}

double Sampler::weigh_candidates(float largest, float inverse_temperature) {
  candidate_logits_.clear();
  for (const auto& candidate : candidates_) candidate_logits_.push_back(candidate.logit);
  candidate_weights_.resize(candidates_.size());
  kernels::exponentials(candidate_logits_, largest, inverse_temperature, candidate_weights_.data());
  double sum = 0;
  for (const float weight : candidate_weights_) sum += weight;
  return sum;
}

TokenId Sampler::draw_from_best(const SamplingParams& params, double uniform, double known,
                                double total) const {
  std::size_t kept = candidate_weights_.size();
  if (params.min_p > 0.0f) {
    // The best has weight 1, so min_p is the threshold itself.
    while (kept > 1 && candidate_weights_[kept - 1] < params.min_p) known -= candidate_weights_[--kept];
  }
  const double wanted = double{params.top_p} * (total > 0.0 ? total : known);
  double sum = 0;
  std::size_t end = 0;
  while (end < kept && (end == 0 || params.top_p >= 1.0f || sum < wanted)) sum += candidate_weights_[end++];
  double left = uniform * sum;
  for (std::size_t i = 0; i + 1 < end; ++i) {
    left -= candidate_weights_[i];
    if (left < 0.0) return candidates_[i].token;
  }
  return candidates_[end - 1].token;
}

TokenId Sampler::draw_from_all(double uniform) {
  // Sums of stretches first, so that the walk below is short; four chains, because one would wait for
  // itself. The order is fixed.
  constexpr std::size_t kStretch = 512;
  stretches_.clear();
  double total = 0;
  for (std::size_t begin = 0; begin < weights_.size(); begin += kStretch) {
    const std::size_t end = std::min(begin + kStretch, weights_.size());
    double sums[4] = {};
    for (std::size_t i = begin; i < end; ++i) sums[i % 4] += weights_[i];
    stretches_.push_back((sums[0] + sums[1]) + (sums[2] + sums[3]));
    total += stretches_.back();
  }
  double left = uniform * total;
  std::size_t stretch = 0;
  while (stretch + 1 < stretches_.size() && left >= stretches_[stretch]) left -= stretches_[stretch++];
  const std::size_t begin = stretch * kStretch;
  const std::size_t end = std::min(begin + kStretch, weights_.size());
  std::size_t last = begin;  // the last token with any weight: rounding must not draw an impossible one
  for (std::size_t i = begin; i < end; ++i) {
    if (!(weights_[i] > 0.0f)) continue;
    last = i;
    left -= weights_[i];
    if (left < 0.0) break;
  }
  return static_cast<TokenId>(last);
}

}  // namespace paternoster::engine
