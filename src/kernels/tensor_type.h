// The element types of GGUF tensors that the kernels can read, numbered as GGUF numbers them, so
// that a cast from the model layer's enumeration is enough. Anyone may use this header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paternoster::kernels {

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

// A type's block: so many inputs of one row in so many bytes. {0, 0} for a type unknown here.
struct BlockSize {
  std::size_t elements;
  std::size_t bytes;
};
BlockSize block_size(TensorType type) noexcept;

// Bytes of one row of `cols` inputs; 0 when the type is unknown or cols is no multiple of its block.
std::size_t row_bytes(TensorType type, std::size_t cols) noexcept;

// True for the types that are multiplied as integers (all but F32, F16 and BF16).
bool is_quantised(TensorType type) noexcept;

// "Q4_1" and so on; "?" for a type unknown here.
const char* type_name(TensorType type) noexcept;

}  // namespace paternoster::kernels
