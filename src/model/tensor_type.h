// How the numbers of a tensor are packed in a GGUF file: the types this engine can read.
//
// The values are GGUF's own numbers. A type packs `block_elements` consecutive elements of one row into
// `block_bytes` bytes; a row is a whole number of blocks. Anyone may call this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace paternoster::model {

enum class TensorType : std::uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kBF16 = 30,
};

struct TensorTypeTraits {
  TensorType type;
  std::string_view name;         // as the field writes it: "Q4_K"
  std::uint32_t block_elements;  // elements a block
  std::uint32_t block_bytes;     // bytes a block
};

// Every supported type once, in the order of the enum.
std::span<const TensorTypeTraits> tensor_types() noexcept;

// The traits of a supported type.
const TensorTypeTraits& traits(TensorType type) noexcept;

inline std::string_view name(TensorType type) noexcept { return traits(type).name; }

// The supported type with this GGUF number, if there is one.
std::optional<TensorType> tensor_type_of(std::uint32_t gguf_number) noexcept;

// What the field calls a GGUF number, supported or not ("IQ4_XS"); "unknown" for a number nobody gave.
std::string_view gguf_type_name(std::uint32_t gguf_number) noexcept;

// Bytes of `elements` elements; elements must be a multiple of block_elements, and small enough that
// the product does not wrap (GgufFile has checked both for every tensor it hands out).
std::uint64_t bytes_of(TensorType type, std::uint64_t elements) noexcept;

}  // namespace paternoster::model
