#include "model/weights.h"

#include <cmath>
#include <string>

#include "model/dequantize.h"
#include "model/gguf.h"
#include "model/packed_array.h"

namespace paternoster::model {
namespace {

constexpr std::string_view kRopeFactors = "rope_freqs.weight";

bool is_plain(TensorType type) {
  return type == TensorType::kF32 || type == TensorType::kF16 || type == TensorType::kBF16;
}

// Takes tensors by name and remembers which, so that what is left over can be named. The first
// error stands; later calls give empty views.
class WeightCollector {
 public:
  WeightCollector(const GgufFile& file, const ModelConfig& config)
      : file_(file), config_(config), used_(file.tensors().size(), false) {}

  Result<ModelWeights> collect();

 private:
  void fail(std::string_view tensor, std::string what) {
    if (!error_) {
      error_ = Error{ErrorCode::kInvalidFile, "tensor " + quoted_name(tensor) + ": " + std::move(what)};
    }
  }

  const TensorInfo* take(std::string_view name);
  TensorView matrix(std::string_view name, std::uint64_t rows, std::uint64_t columns);
  TensorView vector(std::string_view name, std::uint64_t length);
  LayerWeights layer(std::uint32_t number);
  void take_rope_factors(ModelWeights& weights);
  void refuse_leftovers();

  const GgufFile& file_;
  const ModelConfig& config_;
  std::vector<bool> used_;
  std::optional<Error> error_;
};

// For example "the file has 576x192, the model needs 576x576".
std::string shapes(const TensorInfo& info, std::uint64_t columns, std::uint64_t rows) {
  std::string found;
  for (std::uint32_t axis = 0; axis < info.dimensions; ++axis) {
    found += (axis == 0 ? "" : "x") + std::to_string(info.shape[axis]);
  }
  std::string needed = std::to_string(columns);
  if (rows != 1) needed += "x" + std::to_string(rows);
  return "its shape is " + found + ", the model needs " + needed;
}

const TensorInfo* WeightCollector::take(std::string_view name) {
  const TensorInfo* info = file_.find_tensor(name);
  if (info == nullptr) {
    fail(name, "is missing");
    return nullptr;
  }
  used_[static_cast<std::size_t>(info - file_.tensors().data())] = true;
  return info;
}

TensorView WeightCollector::matrix(std::string_view name, std::uint64_t rows,
                                   std::uint64_t columns) {
  const TensorInfo* info = take(name);
  if (info == nullptr) return {};
  if (info->columns() != columns || info->shape[1] != rows || info->rows() != rows) {
    fail(name, shapes(*info, columns, rows));
    return {};
  }
  return {info->name, info->type, rows, columns, info->bytes};
}

TensorView WeightCollector::vector(std::string_view name, std::uint64_t length) {
  const TensorInfo* info = take(name);
  if (info == nullptr) return {};
  if (info->columns() != length || info->rows() != 1) {
    fail(name, shapes(*info, length, 1));
    return {};
  }
  if (!is_plain(info->type)) {
    fail(name, "is " + std::string(model::name(info->type)) + "; a vector is F32, F16 or BF16");
    return {};
  }
  return {info->name, info->type, 1, length, info->bytes};
}

LayerWeights WeightCollector::layer(std::uint32_t number) {
  const std::string prefix = "blk." + std::to_string(number) + ".";
  const auto named = [&prefix](std::string_view field) { return prefix + std::string(field); };
  const std::uint64_t embedding = config_.embedding;
  LayerWeights weights;
  weights.attention_norm = vector(named("attn_norm.weight"), embedding);
  weights.query = matrix(named("attn_q.weight"), config_.query_width(), embedding);
  weights.key = matrix(named("attn_k.weight"), config_.key_width(), embedding);
  weights.value = matrix(named("attn_v.weight"), config_.value_width(), embedding);
  weights.attention_output =
      matrix(named("attn_output.weight"), embedding, config_.attention_width());
  weights.feed_forward_norm = vector(named("ffn_norm.weight"), embedding);
  weights.gate = matrix(named("ffn_gate.weight"), config_.feed_forward, embedding);
  weights.up = matrix(named("ffn_up.weight"), config_.feed_forward, embedding);
  weights.down = matrix(named("ffn_down.weight"), embedding, config_.feed_forward);
  if (config_.query_key_value_bias) {
    weights.query_bias = vector(named("attn_q.bias"), config_.query_width());
    weights.key_bias = vector(named("attn_k.bias"), config_.key_width());
    weights.value_bias = vector(named("attn_v.bias"), config_.value_width());
  }
  if (config_.output_bias) weights.output_bias = vector(named("attn_output.bias"), embedding);
  if (config_.query_key_norm) {
    weights.query_norm = vector(named("attn_q_norm.weight"), config_.head_dim_k);
    weights.key_norm = vector(named("attn_k_norm.weight"), config_.head_dim_k);
  }
  if (config_.post_norms) {
    weights.post_attention_norm = vector(named("post_attention_norm.weight"), embedding);
    weights.post_feed_forward_norm = vector(named("post_ffw_norm.weight"), embedding);
  }
  return weights;
}

void WeightCollector::take_rope_factors(ModelWeights& weights) {
  if (config_.architecture != Architecture::kLlama) return;
  if (file_.find_tensor(kRopeFactors) == nullptr) return;
  weights.rope_factors = vector(kRopeFactors, config_.rope.dimensions / 2);
  if (!weights.rope_factors.present()) return;
  if (weights.rope_factors.type != TensorType::kF32) {
    fail(kRopeFactors, "must be F32");
    return;
  }
  const PackedArray<float> factors(weights.rope_factors.bytes);
  for (std::size_t pair = 0; pair < factors.size(); ++pair) {
    if (std::isfinite(factors[pair]) && factors[pair] > 0) continue;
    fail(kRopeFactors, "entry " + std::to_string(pair) + " is not a positive number");
    return;
  }
}

void WeightCollector::refuse_leftovers() {
  for (std::size_t at = 0; at < used_.size(); ++at) {
    const std::string_view tensor = file_.tensors()[at].name;
    // Angles that old converters stored; everyone computes them.
    if (used_[at] || tensor.ends_with(".attn_rot_embd") || tensor == "rope.freqs") continue;
    fail(tensor, "has no place in this " + std::string(name(config_.architecture)) +
                     " model; running without it would compute another model");
    return;
  }
}

Result<ModelWeights> WeightCollector::collect() {
  ModelWeights weights;
  weights.token_embedding = matrix("token_embd.weight", config_.vocabulary, config_.embedding);
  weights.output_norm = vector("output_norm.weight", config_.embedding);
  weights.output = config_.tied_output
                       ? weights.token_embedding
                       : matrix("output.weight", config_.vocabulary, config_.embedding);
  take_rope_factors(weights);
  weights.layers.reserve(config_.layers);
  for (std::uint32_t number = 0; number < config_.layers && !error_; ++number) {
    weights.layers.push_back(layer(number));
  }
  if (!error_) refuse_leftovers();
  if (error_) return std::unexpected(*error_);
  return weights;
}

}  // namespace

Result<ModelWeights> weights_of(const GgufFile& file, const ModelConfig& config) {
  return WeightCollector(file, config).collect();
}

std::vector<float> vector_of(const TensorView& view) {
  if (!view.present()) return {};
  std::vector<float> values(view.rows * view.columns);
  dequantize(view.type, view.bytes, values);
  return values;
}

std::uint64_t parameter_count(const GgufFile& file) noexcept {
  std::uint64_t elements = 0;
  for (const TensorInfo& tensor : file.tensors()) {
    if (tensor.name != kRopeFactors) elements += tensor.elements();
  }
  return elements;
}

}  // namespace paternoster::model
