#include "kernels/reference.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace paternoster::kernels::reference {

void matmul(const PackedMatrix& weights, const float* in, float* out) {
  std::vector<float> row(weights.cols());
  for (std::size_t r = 0; r < weights.rows(); ++r) {
    dequantise_row(weights, r, row.data());
    double total = 0.0;
    for (std::size_t col = 0; col < weights.cols(); ++col) {
      total += static_cast<double>(row[col]) * static_cast<double>(in[col]);
    }
    out[r] = static_cast<float>(total);
  }
}

void rms_norm(const float* in, const float* weight, float epsilon, std::size_t count, float* out) {
  double squares = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    squares += static_cast<double>(in[i]) * static_cast<double>(in[i]);
  }
  const double factor =
      1.0 / std::sqrt(squares / static_cast<double>(count) + static_cast<double>(epsilon));
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(static_cast<double>(in[i]) * factor * static_cast<double>(weight[i]));
  }
}

void gated_product(Gate gate, const float* gates, const float* ups, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const double x = gates[i];
    const double y = std::sqrt(2.0 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
    const double opened =
        gate == Gate::kSilu ? x / (1.0 + std::exp(-x)) : 0.5 * x * (1.0 + std::tanh(y));
    out[i] = static_cast<float>(opened * static_cast<double>(ups[i]));
  }
}

void rope(RopePairs pairs, const RopeFrequencies& frequencies, std::size_t position,
          std::size_t dims, std::size_t heads, std::size_t head_dim, float* values) {
  for (std::size_t h = 0; h < heads; ++h) {
    float* head = values + h * head_dim;
    for (std::size_t i = 0; i < dims / 2; ++i) {
      const bool halves = pairs == RopePairs::kHalves;
      float& first = head[halves ? i : 2 * i];
      float& second = head[halves ? i + dims / 2 : 2 * i + 1];
      const double angle = static_cast<double>(position) * frequencies.per_position[i];
      const double a = first, b = second;
      const double cosine = std::cos(angle) * frequencies.magnitude;
      const double sine = std::sin(angle) * frequencies.magnitude;
      first = static_cast<float>(a * cosine - b * sine);
      second = static_cast<float>(a * sine + b * cosine);
    }
  }
}

void attention(const AttentionShape& shape, const float* query, const float* keys,
               const float* values, std::size_t count, float* out) {
  const std::size_t dim = shape.head_dim;
  const std::size_t begin = shape.window != 0 && count > shape.window ? count - shape.window : 0;
  for (std::size_t h = 0; h < shape.heads; ++h) {
    const std::size_t kv = h / (shape.heads / shape.kv_heads);
    std::vector<double> weights(count, 0.0);
    double most = -INFINITY, total = 0.0;
    for (std::size_t p = begin; p < count; ++p) {
      const float* key = keys + (p * shape.kv_heads + kv) * dim;
      for (std::size_t d = 0; d < dim; ++d) {
        weights[p] += static_cast<double>(query[h * dim + d]) * static_cast<double>(key[d]);
      }
      weights[p] *= static_cast<double>(shape.scale);
      most = std::max(most, weights[p]);
    }
    for (std::size_t p = begin; p < count; ++p) {
      weights[p] = std::exp(weights[p] - most);
      total += weights[p];
    }
    for (std::size_t d = 0; d < dim; ++d) {
      double mean = 0.0;
      for (std::size_t p = begin; p < count; ++p) {
        mean += weights[p] * static_cast<double>(values[(p * shape.kv_heads + kv) * dim + d]);
      }
      out[h * dim + d] = static_cast<float>(mean / total);
    }
  }
}

float log_sum_exp(std::span<const float> logits) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double total = 0.0;
  for (const float logit : logits) {
    total += std::exp(static_cast<double>(logit) - most);
  }
  return static_cast<float>(most + std::log(total));
}

}  // namespace paternoster::kernels::reference
