// GGUF bytes put together by hand, right or wrong on purpose: for the tests of this layer only.
//
// A builder holds keys and tensors in order; bytes() lays them out. set() replaces a key of that
// name; every count and offset can be overridden with a lie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/gguf.h"
#include "model/tensor_type.h"

namespace paternoster::model {

class GgufBuilder {
 public:
  struct Key {
    std::string name;
    ValueType type;
    std::string payload;
  };
  struct Tensor {
    std::string name;
    std::vector<std::uint64_t> shape;
    std::uint32_t type = 0;
    std::optional<std::uint64_t> offset;  // computed when absent
  };

  std::uint32_t magic = 0x46554747;
  std::uint32_t version = 3;
  std::optional<std::uint64_t> tensor_count, key_count;
  std::uint64_t alignment = 32;  // of the layout; the key is separate
  std::vector<Key> keys;
  std::vector<Tensor> tensors;

  template <typename T>
  static std::string packed(T value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static std::string packed_string(std::string_view text) {
    return packed(std::uint64_t{text.size()}) + std::string(text);
  }

  GgufBuilder& set(std::string name, ValueType type, std::string payload) {
    const auto found = std::ranges::find(keys, name, &Key::name);
    if (found == keys.end()) {
      keys.push_back({std::move(name), type, std::move(payload)});
    } else {
      *found = {std::move(name), type, std::move(payload)};
    }
    return *this;
  }
  GgufBuilder& u32(std::string name, std::uint32_t value) {
    return set(std::move(name), ValueType::kUint32, packed(value));
  }
  GgufBuilder& f32(std::string name, float value) {
    return set(std::move(name), ValueType::kFloat32, packed(value));
  }
  GgufBuilder& boolean(std::string name, std::uint8_t value) {
    return set(std::move(name), ValueType::kBool, packed(value));
  }
  GgufBuilder& string(std::string name, std::string_view value) {
    return set(std::move(name), ValueType::kString, packed_string(value));
  }
  GgufBuilder& strings(std::string name, const std::vector<std::string>& values) {
    std::string payload = packed(std::uint32_t{8}) + packed(std::uint64_t{values.size()});
    for (const std::string& value : values) payload += packed_string(value);
    return set(std::move(name), ValueType::kArray, std::move(payload));
  }
  template <typename T>
  GgufBuilder& array(std::string name, ValueType element, const std::vector<T>& values) {
    std::string payload = packed(element) + packed(std::uint64_t{values.size()});
    for (const T value : values) payload += packed(value);
    return set(std::move(name), ValueType::kArray, std::move(payload));
  }
  GgufBuilder& remove(std::string_view name) {
    std::erase_if(keys, [name](const Key& key) { return key.name == name; });
    return *this;
  }

  GgufBuilder& tensor(std::string name, std::vector<std::uint64_t> shape,
                      TensorType type = TensorType::kF32) {
    tensors.push_back({std::move(name), std::move(shape), static_cast<std::uint32_t>(type), {}});
    return *this;
  }
  Tensor& at(std::string_view name) { return *std::ranges::find(tensors, name, &Tensor::name); }
  GgufBuilder& remove_tensor(std::string_view name) {
    std::erase_if(tensors, [name](const Tensor& tensor) { return tensor.name == name; });
    return *this;
  }

  std::string bytes() const {
    std::string header = packed(magic) + packed(version) +
                         packed(tensor_count.value_or(tensors.size())) +
                         packed(key_count.value_or(keys.size()));
    for (const Key& key : keys) {
      header += packed_string(key.name) + packed(key.type) + key.payload;
    }
    std::uint64_t next = 0;
    for (const Tensor& tensor : tensors) {
      header += packed_string(tensor.name) + packed(static_cast<std::uint32_t>(tensor.shape.size()));
      for (const std::uint64_t extent : tensor.shape) header += packed(extent);
      header += packed(tensor.type) + packed(tensor.offset.value_or(next));
      next = aligned(next + size_of(tensor));
    }
    header.resize(aligned(header.size()) + next, '\0');
    return header;
  }

 private:
  std::uint64_t aligned(std::uint64_t value) const {
    return (value + alignment - 1) / alignment * alignment;
  }
  static std::uint64_t size_of(const Tensor& tensor) {
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : tensor.shape) elements *= extent;
    const auto type = tensor_type_of(tensor.type);
    // A lie about the shape does not make the file bigger.
    return type && elements < 1u << 20 ? bytes_of(*type, elements) : 0;
  }
};

// A whole llama model of one layer: embedding 8, two heads of 4, one key-value head, feed-forward
// 16, five tokens; all zeros. Valid until a test changes it.
inline GgufBuilder tiny_llama() {
  GgufBuilder file;
  file.string("general.architecture", "llama")
      .u32("llama.block_count", 1)
      .u32("llama.context_length", 64)
      .u32("llama.embedding_length", 8)
      .u32("llama.feed_forward_length", 16)
      .u32("llama.attention.head_count", 2)
      .u32("llama.attention.head_count_kv", 1)
      .f32("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .string("tokenizer.ggml.model", "gpt2")
      .strings("tokenizer.ggml.tokens", {"<s>", "a", "b", "ab", "c"})
      .array<std::int32_t>("tokenizer.ggml.token_type", ValueType::kInt32, {3, 1, 1, 1, 1})
      .array<float>("tokenizer.ggml.scores", ValueType::kFloat32, {0, 0, 0, 0, 0})
      .strings("tokenizer.ggml.merges", {"a b"})
      .u32("tokenizer.ggml.bos_token_id", 0);
  file.tensor("token_embd.weight", {8, 5})
      .tensor("blk.0.attn_norm.weight", {8})
      .tensor("blk.0.attn_q.weight", {8, 8})
      .tensor("blk.0.attn_k.weight", {8, 4})
      .tensor("blk.0.attn_v.weight", {8, 4})
      .tensor("blk.0.attn_output.weight", {8, 8})
      .tensor("blk.0.ffn_norm.weight", {8})
      .tensor("blk.0.ffn_gate.weight", {8, 16})
      .tensor("blk.0.ffn_up.weight", {8, 16})
      .tensor("blk.0.ffn_down.weight", {16, 8})
      .tensor("output_norm.weight", {8});
  return file;
}

}  // namespace paternoster::model
