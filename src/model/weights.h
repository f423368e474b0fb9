// Every tensor a model's forward pass reads, by name, each checked for presence, shape and type.
//
// Views of the file's mapping, still packed as the file has them (dequantize.h reads them): they live
// as long as the GgufFile. A file with a tensor the architecture does not use is refused: it would be
// another model than the one we compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/config.h"
#include "model/tensor_type.h"

namespace paternoster::model {

class GgufFile;

// A matrix of `rows` outputs by `columns` inputs, rows contiguous; a vector has one row.
struct TensorView {
  std::string_view name;
  TensorType type = TensorType::kF32;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::span<const std::byte> bytes;

  bool present() const noexcept { return !bytes.empty(); }
  std::uint64_t row_bytes() const noexcept { return bytes.size() / rows; }
  std::span<const std::byte> row(std::uint64_t index) const noexcept {
    return bytes.subspan(index * row_bytes(), row_bytes());
  }
};

// All of a tensor as float32; nothing if it is not present.
std::vector<float> vector_of(const TensorView& view);

// Vectors are F32, F16 or BF16; matrices are of any type. What a model lacks is not present().
struct LayerWeights {
  TensorView attention_norm;       // [embedding]
  TensorView query;                // query_width x embedding
  TensorView key;                  // key_width x embedding
  TensorView value;                // value_width x embedding
  TensorView query_bias;           // [query_width], with query_key_value_bias
  TensorView key_bias;             // [key_width]
  TensorView value_bias;           // [value_width]
  TensorView query_norm;           // [head_dim_k], with query_key_norm
  TensorView key_norm;             // [head_dim_k]
  TensorView attention_output;     // embedding x attention_width
  TensorView output_bias;          // [embedding], with output_bias
  TensorView post_attention_norm;  // [embedding], with post_norms
  TensorView feed_forward_norm;    // [embedding]
  TensorView gate;                 // feed_forward x embedding
  TensorView up;                   // feed_forward x embedding
  TensorView down;                 // embedding x feed_forward
  TensorView post_feed_forward_norm;  // [embedding], with post_norms
};

struct ModelWeights {
  TensorView token_embedding;  // vocabulary x embedding
  TensorView output_norm;      // [embedding]
  TensorView output;           // vocabulary x embedding; the token embedding when tied
  TensorView rope_factors;     // [rope.dimensions / 2] F32 divisors of the angles, if the file has them
  std::vector<LayerWeights> layers;
};

// `config` must be config_of(file).
Result<ModelWeights> weights_of(const GgufFile& file, const ModelConfig& config);

// The sum of all tensors' elements but rope_factors: what people call the parameter count.
std::uint64_t parameter_count(const GgufFile& file) noexcept;

}  // namespace paternoster::model
