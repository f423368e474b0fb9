// IEEE half precision and bfloat16 as bits, for packing and tests; kernels use the processor's own.
#pragma once

#include <cstdint>

namespace paternoster::kernels {

float half_to_float(std::uint16_t half) noexcept;        // exact
std::uint16_t float_to_half(float value) noexcept;       // round to nearest even
float bfloat16_to_float(std::uint16_t bits) noexcept;    // exact

}  // namespace paternoster::kernels
