#include "engine/reference_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "model/dequantize.h"

namespace paternoster::engine {
namespace {

using model::ModelConfig;
using model::TensorView;

void norm_in_place(float* values, std::span<const float> weight, float epsilon) {
  float squares = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) squares += values[i] * values[i];
  const float factor = 1.0f / std::sqrt(squares / static_cast<float>(weight.size()) + epsilon);
  for (std::size_t i = 0; i < weight.size(); ++i) values[i] = values[i] * factor * weight[i];
}

void norm_rows(Rows& rows, const TensorView& weight, float epsilon) {
  const std::vector<float> factors = model::vector_of(weight);
  for (std::size_t r = 0; r < rows.count; ++r) {
    for (std::size_t at = 0; at < rows.width; at += factors.size()) {
      norm_in_place(rows.row(r) + at, factors, epsilon);
    }
  }
}

void add_bias(Rows& rows, const TensorView& bias) {
  if (!bias.present()) return;
  const std::vector<float> values = model::vector_of(bias);
  for (std::size_t r = 0; r < rows.count; ++r) {
    for (std::size_t i = 0; i < rows.width; ++i) rows.row(r)[i] += values[i];
  }
}

void add_rows(Rows& to, const Rows& from) {
  for (std::size_t i = 0; i < to.values.size(); ++i) to.values[i] += from.values[i];
}

float gelu_tanh(float x) {
  const float inner = std::sqrt(2.0f / std::numbers::pi_v<float>) * (x + 0.044715f * x * x * x);
  return 0.5f * x * (1.0f + std::tanh(inner));
}

float silu(float x) { return x / (1.0f + std::exp(-x)); }

// The pair in which position / 2 pi turns `rotations` times over the original context (YaRN).
double yarn_pair(const model::RopeConfig& rope, double base, double rotations) {
  const double dims = rope.dimensions;
  return dims * std::log(rope.original_context_length / (rotations * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(base));
}

struct Turn {
  double frequency;
  double magnitude;
};

Turn turn_of(const ModelConfig& config, std::uint32_t layer, std::size_t pair, float divisor) {
  const model::RopeConfig& rope = config.rope;
  const double base = config.rope_base(layer);
  const double plain =
      std::pow(base, -2.0 * static_cast<double>(pair) / rope.dimensions) / static_cast<double>(divisor);
  switch (config.rope_scaling(layer)) {
    case model::RopeScaling::kNone:
      return {plain, 1.0};
    case model::RopeScaling::kLinear:
      return {plain / rope.factor, 1.0};
    case model::RopeScaling::kYarn:
      break;
  }
  const double low = std::max(0.0, std::floor(yarn_pair(rope, base, rope.beta_fast)));
  const double high = std::min(rope.dimensions - 1.0, std::ceil(yarn_pair(rope, base, rope.beta_slow)));
  const double along = (static_cast<double>(pair) - low) / std::max(0.001, high - low);
  const double extrapolated = (1.0 - std::clamp(along, 0.0, 1.0)) * rope.extrapolation_factor;
  const double sharpened = rope.extrapolation_factor == 0.0f ? 1.0 : 1.0 + 0.1 * std::log(rope.factor);
  return {plain / rope.factor * (1.0 - extrapolated) + plain * extrapolated, rope.attention_factor * sharpened};
}

void rotate(const ModelConfig& config, const TensorView& divisors, std::uint32_t layer, Rows& rows) {
  const std::size_t pairs = config.rope.dimensions / 2;
  const bool halves = config.rope.style == model::RopeStyle::kHalves;
  const std::vector<float> divisor =
      divisors.present() && !config.is_sliding(layer) ? model::vector_of(divisors) : std::vector<float>(pairs, 1.0f);
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const Turn turn = turn_of(config, layer, pair, divisor[pair]);
    const std::size_t first = halves ? pair : 2 * pair;
    const std::size_t second = halves ? pair + pairs : 2 * pair + 1;
    for (std::size_t position = 0; position < rows.count; ++position) {
      const double angle = static_cast<double>(position) * turn.frequency;
      const float cosine = static_cast<float>(std::cos(angle) * turn.magnitude);
      const float sine = static_cast<float>(std::sin(angle) * turn.magnitude);
      for (std::size_t head = 0; head < rows.width; head += config.head_dim_k) {
        float* values = rows.row(position) + head;
        const float a = values[first];
        const float b = values[second];
        values[first] = a * cosine - b * sine;
        values[second] = a * sine + b * cosine;
      }
    }
  }
}

// One query head at one position over keys and values [0, position], from `first` on.
struct OneHead {
  const Rows& key;
  const Rows& value;
  std::size_t key_offset;
  std::size_t value_offset;
  std::size_t key_dims;
  std::size_t value_dims;
  float scale;

  void attend(const float* query, std::size_t first, std::size_t position, float* out) const {
    std::vector<float> scores;
    float largest = -INFINITY;
    for (std::size_t p = first; p <= position; ++p) {
      float score = 0;
      for (std::size_t i = 0; i < key_dims; ++i) score += query[i] * key.row(p)[key_offset + i];
      scores.push_back(score * scale);
      largest = std::max(largest, scores.back());
    }
    float total = 0;
    for (float& score : scores) total += score = std::exp(score - largest);
    for (std::size_t i = 0; i < value_dims; ++i) out[i] = 0;
    for (std::size_t p = first; p <= position; ++p) {
      const float share = scores[p - first] / total;
      for (std::size_t i = 0; i < value_dims; ++i) out[i] += share * value.row(p)[value_offset + i];
    }
  }
};

constexpr std::size_t kTogether = 16;  // tokens that share one decoding of a weight row

}  // namespace

Rows ReferenceModel::linear(const TensorView& weight, const Rows& in) const {
  PATERNOSTER_CHECK(in.width == weight.columns);
  Rows out(in.count, weight.rows);
  // Tokens side by side, so that the inner loop runs over tokens and every sum stays one plain chain.
  const std::size_t groups = (in.count + kTogether - 1) / kTogether;
  std::vector<float> beside(groups * in.width * kTogether);
  for (std::size_t t = 0; t < in.count; ++t) {
    float* group = beside.data() + t / kTogether * in.width * kTogether;
    for (std::size_t i = 0; i < in.width; ++i) group[i * kTogether + t % kTogether] = in.row(t)[i];
  }
  pool_.parallel(weight.rows, 16, [&](std::size_t begin, std::size_t end, int) {
    std::vector<float> factors(weight.columns);
    for (std::size_t r = begin; r < end; ++r) {
      model::dequantize(weight.type, weight.row(r), factors);
      for (std::size_t group = 0; group < groups; ++group) {
        const float* values = beside.data() + group * in.width * kTogether;
        std::array<float, kTogether> sums{};
        for (std::size_t i = 0; i < factors.size(); ++i) {
          for (std::size_t t = 0; t < kTogether; ++t) sums[t] += factors[i] * values[i * kTogether + t];
        }
        const std::size_t count = std::min(kTogether, in.count - group * kTogether);
        for (std::size_t t = 0; t < count; ++t) out.row(group * kTogether + t)[r] = sums[t];
      }
    }
  });
  return out;
}

Rows ReferenceModel::mix(std::size_t layer, const Rows& query, const Rows& key,
                         const Rows& value) const {
  const ModelConfig& config = model_.config;
  Rows out(query.count, config.attention_width());
  const bool sliding = config.is_sliding(static_cast<std::uint32_t>(layer)) && config.sliding_window > 0;
  pool_.parallel(query.count, 1, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t position = begin; position < end; ++position) {
      const std::size_t first = sliding && position + 1 > config.sliding_window
                                    ? position + 1 - config.sliding_window
                                    : 0;
      for (std::size_t head = 0; head < config.heads; ++head) {
        const std::size_t kv_head = head / (config.heads / config.kv_heads);
        const OneHead one{key, value, kv_head * config.head_dim_k, kv_head * config.head_dim_v,
                          config.head_dim_k, config.head_dim_v, config.query_scale};
        one.attend(query.row(position) + head * config.head_dim_k, first, position,
                   out.row(position) + head * config.head_dim_v);
      }
    }
  });
  return out;
}

void ReferenceModel::attend(std::size_t layer, const Rows& normed, Rows& stream) const {
  const ModelConfig& config = model_.config;
  const model::LayerWeights& weights = model_.weights.layers[layer];
  Rows query = linear(weights.query, normed);
  Rows key = linear(weights.key, normed);
  Rows value = linear(weights.value, normed);
  add_bias(query, weights.query_bias);
  add_bias(key, weights.key_bias);
  add_bias(value, weights.value_bias);
  if (config.query_key_norm) {
    norm_rows(query, weights.query_norm, config.norm_epsilon);
    norm_rows(key, weights.key_norm, config.norm_epsilon);
  }
  rotate(config, model_.weights.rope_factors, static_cast<std::uint32_t>(layer), query);
  rotate(config, model_.weights.rope_factors, static_cast<std::uint32_t>(layer), key);
  Rows out = linear(weights.attention_output, mix(layer, query, key, value));
  add_bias(out, weights.output_bias);
  if (config.post_norms) norm_rows(out, weights.post_attention_norm, config.norm_epsilon);
  add_rows(stream, out);
}

void ReferenceModel::feed_forward(std::size_t layer, Rows& stream) const {
  const ModelConfig& config = model_.config;
  const model::LayerWeights& weights = model_.weights.layers[layer];
  Rows normed = stream;
  norm_rows(normed, weights.feed_forward_norm, config.norm_epsilon);
  Rows gate = linear(weights.gate, normed);
  const Rows up = linear(weights.up, normed);
  for (std::size_t i = 0; i < gate.values.size(); ++i) {
    const float x = gate.values[i];
    gate.values[i] = (config.activation == model::Activation::kSilu ? silu(x) : gelu_tanh(x)) * up.values[i];
  }
  Rows out = linear(weights.down, gate);
  if (config.post_norms) norm_rows(out, weights.post_feed_forward_norm, config.norm_epsilon);
  add_rows(stream, out);
}

Rows ReferenceModel::hidden(std::span<const TokenId> tokens) const {
  const ModelConfig& config = model_.config;
  Rows stream(tokens.size(), config.embedding);
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const TensorView& table = model_.weights.token_embedding;
    PATERNOSTER_CHECK(tokens[t] >= 0 && static_cast<std::uint64_t>(tokens[t]) < table.rows);
    model::dequantize(table.type, table.row(static_cast<std::uint64_t>(tokens[t])),
                      std::span(stream.row(t), stream.width));
    for (std::size_t i = 0; i < stream.width; ++i) stream.row(t)[i] *= config.embedding_scale;
  }
  for (std::size_t layer = 0; layer < config.layers; ++layer) {
    Rows normed = stream;
    norm_rows(normed, model_.weights.layers[layer].attention_norm, config.norm_epsilon);
    attend(layer, normed, stream);
    feed_forward(layer, stream);
  }
  norm_rows(stream, model_.weights.output_norm, config.norm_epsilon);
  return stream;
}

Rows ReferenceModel::logits(const Rows& hidden, std::size_t begin, std::size_t end) const {
  Rows some(end - begin, hidden.width);
  std::copy(hidden.row(begin), hidden.row(end), some.values.begin());
  return linear(model_.weights.output, some);
}

}  // namespace paternoster::engine
