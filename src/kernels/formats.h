// The kernel formats: how a tile of 16 rows is laid out for each quantised type. Compile-time
// constants only, for packing (format-agnostic) and for the kernels (one instance a type).
//
//   weight = d * (u - kZero) + m         u in 0..kMaximum
//   tile   = [super-block scales] [block 0] [block 1] ...
//   block  = quants of 16 rows x 32 inputs, then d of each set, then m of each set (16 rows each)
//   quants = 8 groups of 4 inputs; a group is 16 rows x 4 inputs = 64 bytes, row-major. With nibbles,
//            64 bytes hold group 2c in their low and group 2c + 1 in their high halves.
//   sets   = 1, or 2 when 16 inputs share a scale (K-quants): set 0 for the first 16 inputs
//   scales = f16, or for K-quants an int8 factor of the super-block's f16 (8 blocks share it)
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/tensor_type.h"

namespace paternoster::kernels {

template <int Maximum, int Zero, bool Nibbles, int Sets, bool Super, bool Minimum>
struct Format {
  static constexpr int kMaximum = Maximum;
  static constexpr int kZero = Zero;
  static constexpr bool kNibbles = Nibbles;
  static constexpr int kSets = Sets;
  static constexpr bool kSuper = Super;
  static constexpr bool kMinimum = Minimum;
  static constexpr std::size_t kQuantBytes = Nibbles ? 256 : 512;
  static constexpr std::size_t kSetBytes = Super ? 16 : 32;  // one d or m of 16 rows
  static constexpr std::size_t kBlockBytes = kQuantBytes + Sets * kSetBytes * (Minimum ? 2 : 1);
  static constexpr std::size_t kSuperBytes = Super ? (Minimum ? 64 : 32) : 0;  // d, then m
};

using FormatQ4_0 = Format<15, 8, true, 1, false, false>;
using FormatQ4_1 = Format<15, 0, true, 1, false, true>;
using FormatQ5_0 = Format<31, 16, false, 1, false, false>;
using FormatQ5_1 = Format<31, 0, false, 1, false, true>;
using FormatQ8_0 = Format<255, 128, false, 1, false, false>;
using FormatQ2_K = Format<3, 0, true, 2, true, true>;
using FormatQ3_K = Format<7, 4, true, 2, true, false>;
using FormatQ4_K = Format<15, 0, true, 1, true, true>;
using FormatQ5_K = Format<31, 0, false, 1, true, true>;
using FormatQ6_K = Format<63, 32, false, 2, true, false>;

// The same as numbers, for code that does not care which type it is.
struct FormatInfo {
  int zero;
  bool nibbles;
  std::size_t sets;
  bool super;
  bool minimum;
  std::size_t quant_bytes;
  std::size_t set_bytes;
  std::size_t block_bytes;
  std::size_t super_bytes;

  std::size_t supers_bytes(std::size_t cols) const noexcept { return cols / 256 * super_bytes; }
  std::size_t tile_bytes(std::size_t cols) const noexcept {
    return (supers_bytes(cols) + cols / 32 * block_bytes + 63) / 64 * 64;
  }
};

// type must be quantised.
FormatInfo format_info(TensorType type) noexcept;

}  // namespace paternoster::kernels
