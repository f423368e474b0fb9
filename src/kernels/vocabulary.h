// Reading a row of logits: the best, the best k, and the normaliser of log-probabilities. All have a
// fixed order, so ties and roundings are the same everywhere. A NaN never wins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace paternoster::kernels {

// The index of the largest logit; the lowest of equals. logits is not empty.
std::int32_t argmax(std::span<const float> logits);

struct ScoredToken {
  std::int32_t token;
  float logit;
};

// The k largest, best first, lower token first among equals; without sorting the rest. Fewer if the
// vocabulary is smaller. `best` is reused as scratch to spare allocations.
void top_k(std::span<const float> logits, std::size_t k, std::vector<ScoredToken>& best);

// log(sum(exp(logits))): log-probability(token) = logits[token] - log_sum_exp(logits).
float log_sum_exp(std::span<const float> logits);

// out[i] = exp((logits[i] - largest) * inverse_temperature); returns their sum. In place is allowed.
float exponentials(std::span<const float> logits, float largest, float inverse_temperature,
                   float* out);

}  // namespace paternoster::kernels
