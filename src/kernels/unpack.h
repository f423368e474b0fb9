// GGUF's quantised blocks taken apart into integers and scales, bit by bit as the format says.
// Private to this layer: packing reads files through it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/tensor_type.h"

namespace paternoster::kernels {

// 32 inputs of one row: weight = d * (u - zero) + m (formats.h). Plain types fill half_d and half_m
// (f16 bits); K-quants fill factor_d and factor_m, to be multiplied with their super-block's.
struct UnpackedBlock {
  std::uint8_t u[32];
  std::uint16_t half_d;
  std::uint16_t half_m;
  std::int8_t factor_d[2];
  std::int8_t factor_m[2];
};

struct UnpackedSuper {
  std::uint16_t half_d;
  std::uint16_t half_m;  // negated: GGUF subtracts its minima
};

// `row` is the row's first byte; block counts 32 inputs, super counts 256.
UnpackedBlock unpack_block(TensorType type, const std::uint8_t* row, std::size_t block);
UnpackedSuper unpack_super(TensorType type, const std::uint8_t* row, std::size_t super);

}  // namespace paternoster::kernels
