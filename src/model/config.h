// What a model is: the numbers and choices its forward pass needs, read from GGUF metadata, checked,
// and completed with what the architecture implies but the file does not say.
//
// Invariants after config_of(): every count is positive and bounded so that products of any three fit
// 64 bits; heads divides by kv_heads; rope.dimensions is even and at most head_dim_k; floats are finite.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paternoster::model {

class GgufFile;

enum class Architecture { kLlama, kQwen2, kQwen3, kGemma3 };
std::string_view name(Architecture architecture) noexcept;

enum class Activation { kSilu, kGeluTanh };  // of the gate: down(activation(gate(x)) * up(x))

// Which two elements of a head turn together: (2i, 2i+1), or (i, i + dimensions/2).
enum class RopeStyle { kInterleaved, kHalves };

enum class RopeScaling { kNone, kLinear, kYarn };

// Rotary position embedding. Angle of pair i at position p, before scaling: p * base^(-2i/dimensions).
// Per-pair divisors (Llama 3's scaling) come as a tensor: ModelWeights::rope_factors.
struct RopeConfig {
  RopeStyle style = RopeStyle::kInterleaved;
  std::uint32_t dimensions = 0;  // of each head, from its start; even
  float base = 10000.0f;         // layers that see the whole context
  float local_base = 10000.0f;   // sliding-window layers (rope_base, rope_scaling below choose)
  RopeScaling scaling = RopeScaling::kNone;
  float factor = 1.0f;                          // linear, yarn: positions are divided by it
  std::uint32_t original_context_length = 0;    // yarn: the length before extension
  float extrapolation_factor = 1.0f;            // yarn: 1 = full mix
  float attention_factor = 1.0f;                // yarn: multiplies sine and cosine, on top of
                                                // 1 + 0.1 ln(factor)
  float beta_fast = 32.0f;                      // yarn
  float beta_slow = 1.0f;                       // yarn
};

struct ModelConfig {
  Architecture architecture = Architecture::kLlama;
  std::uint32_t layers = 0;
  std::uint32_t embedding = 0;  // width of the residual stream
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim_k = 0;  // of queries and keys
  std::uint32_t head_dim_v = 0;
  std::uint32_t feed_forward = 0;
  std::uint32_t vocabulary = 0;
  std::uint32_t context_length = 0;  // trained
  float norm_epsilon = 0;
  RopeConfig rope;
  std::uint32_t sliding_window = 0;      // a token sees itself and the sliding_window - 1 before; 0: none
  std::vector<bool> layer_is_sliding;    // one entry a layer
  float embedding_scale = 1.0f;          // token embeddings are multiplied by it
  float query_scale = 1.0f;              // scores are query_scale * (q . k)
  Activation activation = Activation::kSilu;
  bool query_key_norm = false;  // RMS norm of each head of q and k before RoPE
  bool post_norms = false;      // RMS norm after attention and after feed-forward, before the residual
  bool query_key_value_bias = false;
  bool output_bias = false;  // on the attention's output projection
  bool tied_output = false;  // logits from the token embedding

  bool is_sliding(std::uint32_t layer) const { return layer_is_sliding[layer]; }
  float rope_base(std::uint32_t layer) const {
    return is_sliding(layer) ? rope.local_base : rope.base;
  }
  // gemma3 extends only its global layers.
  RopeScaling rope_scaling(std::uint32_t layer) const {
    return architecture == Architecture::kGemma3 && is_sliding(layer) ? RopeScaling::kNone
                                                                      : rope.scaling;
  }

  std::uint32_t query_width() const { return heads * head_dim_k; }
  std::uint32_t key_width() const { return kv_heads * head_dim_k; }
  std::uint32_t value_width() const { return kv_heads * head_dim_v; }
  std::uint32_t attention_width() const { return heads * head_dim_v; }  // columns of the output projection

  // Keys and values of one token in every layer, at `element_bytes` bytes an element.
  std::uint64_t kv_bytes_per_token(std::uint32_t element_bytes) const {
    return std::uint64_t{layers} * (key_width() + value_width()) * element_bytes;
  }
};

Result<ModelConfig> config_of(const GgufFile& file);

}  // namespace paternoster::model
