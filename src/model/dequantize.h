// Packed numbers to float32, one scalar loop a type: the oracle every faster path is judged by.
//
// Exact to the formats: a value is computed by the same float32 operations, in the same order, as the
// format's definition, so results equal the reference decoders bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/tensor_type.h"

namespace paternoster::model {

// Decodes out.size() elements (a whole number of blocks); bytes.size() must be exactly theirs.
void dequantize(TensorType type, std::span<const std::byte> bytes, std::span<float> out) noexcept;

// IEEE 754 half precision to single, exactly (subnormals, infinities and NaN included).
float half_to_float(std::uint16_t bits) noexcept;

// bfloat16 to single, exactly.
float bfloat16_to_float(std::uint16_t bits) noexcept;

}  // namespace paternoster::model
