#include "model/dequantize.h"

#include <bit>
#include <cstring>

#include "base/check.h"

namespace paternoster::model {
namespace {

using Bytes = const std::uint8_t*;

std::uint16_t half_bits(Bytes at) noexcept {
  return static_cast<std::uint16_t>(at[0] | (at[1] << 8));
}

float half(Bytes at) noexcept { return half_to_float(half_bits(at)); }

std::uint32_t word(Bytes at) noexcept {
  return std::uint32_t{at[0]} | (std::uint32_t{at[1]} << 8) | (std::uint32_t{at[2]} << 16) |
         (std::uint32_t{at[3]} << 24);
}

int signed_byte(std::uint8_t value) noexcept { return static_cast<std::int8_t>(value); }

void f32_block(Bytes block, float* out) noexcept { std::memcpy(out, block, sizeof(float)); }
void f16_block(Bytes block, float* out) noexcept { *out = half(block); }
void bf16_block(Bytes block, float* out) noexcept { *out = bfloat16_to_float(half_bits(block)); }

// 32 weights: scale, 16 bytes of nibbles (element i low, element i + 16 high).
void q4_0_block(Bytes block, float* out) noexcept {
  const float scale = half(block);
  const Bytes nibbles = block + 2;
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>((nibbles[i] & 15) - 8);
    out[i + 16] = scale * static_cast<float>((nibbles[i] >> 4) - 8);
  }
}

// As q4_0 with a minimum instead of the offset.
void q4_1_block(Bytes block, float* out) noexcept {
  const float scale = half(block);
  const float minimum = half(block + 2);
  const Bytes nibbles = block + 4;
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(nibbles[i] & 15) + minimum;
    out[i + 16] = scale * static_cast<float>(nibbles[i] >> 4) + minimum;
  }
}

// The fifth bits are one 32-bit word, bit i for element i.
void q5_0_block(Bytes block, float* out) noexcept {
  const float scale = half(block);
  const std::uint32_t high = word(block + 2);
  const Bytes nibbles = block + 6;
  for (int i = 0; i < 16; ++i) {
    const int low_half = (nibbles[i] & 15) | static_cast<int>(((high >> i) & 1) << 4);
    const int high_half = (nibbles[i] >> 4) | static_cast<int>(((high >> (i + 16)) & 1) << 4);
    out[i] = scale * static_cast<float>(low_half - 16);
    out[i + 16] = scale * static_cast<float>(high_half - 16);
  }
}

void q5_1_block(Bytes block, float* out) noexcept {
  const float scale = half(block);
  const float minimum = half(block + 2);
  const std::uint32_t high = word(block + 4);
  const Bytes nibbles = block + 8;
  for (int i = 0; i < 16; ++i) {
    const int low_half = (nibbles[i] & 15) | static_cast<int>(((high >> i) & 1) << 4);
    const int high_half = (nibbles[i] >> 4) | static_cast<int>(((high >> (i + 16)) & 1) << 4);
    out[i] = scale * static_cast<float>(low_half) + minimum;
    out[i + 16] = scale * static_cast<float>(high_half) + minimum;
  }
}

void q8_0_block(Bytes block, float* out) noexcept {
  const float scale = half(block);
  for (int i = 0; i < 32; ++i) out[i] = scale * static_cast<float>(signed_byte(block[2 + i]));
}

// 256 weights in 16 groups of 16: a byte each of 4-bit scale and minimum, then 2-bit weights, four
// of them (32 elements apart) in a byte, then the two halves that scale scales and minimums.
void q2_k_block(Bytes block, float* out) noexcept {
  const Bytes scales = block;
  const Bytes weights = block + 16;
  const float scale = half(block + 80);
  const float minimum = half(block + 82);
  for (int group = 0; group < 16; ++group) {
    const float group_scale = scale * static_cast<float>(scales[group] & 15);
    const float group_minimum = minimum * static_cast<float>(scales[group] >> 4);
    const Bytes bytes = weights + (group / 8) * 32 + (group % 2) * 16;
    const int shift = (group % 8) / 2 * 2;
    for (int i = 0; i < 16; ++i) {
      out[group * 16 + i] =
          group_scale * static_cast<float>((bytes[i] >> shift) & 3) - group_minimum;
    }
  }
}

// Sixteen 6-bit scales: low nibbles in bytes 0..7, two high bits each in bytes 8..11.
int q3_k_scale(Bytes scales, int group) noexcept {
  const int low = group < 8 ? scales[group] & 15 : scales[group - 8] >> 4;
  const int high = (scales[8 + group % 4] >> (2 * (group / 4))) & 3;
  return (low | (high << 4)) - 32;
}

// As q2_k, with a third bit from a mask (clear means minus 4) and signed scales without minimums.
void q3_k_block(Bytes block, float* out) noexcept {
  const Bytes mask = block;
  const Bytes weights = block + 32;
  const Bytes scales = block + 96;
  const float scale = half(block + 108);
  for (int group = 0; group < 16; ++group) {
    const float group_scale = scale * static_cast<float>(q3_k_scale(scales, group));
    const Bytes bytes = weights + (group / 8) * 32 + (group % 2) * 16;
    const Bytes mask_bytes = mask + (group % 2) * 16;
    const int shift = (group % 8) / 2 * 2;
    const int mask_bit = group / 2;
    for (int i = 0; i < 16; ++i) {
      const int low = (bytes[i] >> shift) & 3;
      const int offset = (mask_bytes[i] >> mask_bit) & 1 ? 0 : 4;
      out[group * 16 + i] = group_scale * static_cast<float>(low - offset);
    }
  }
}

struct ScaleAndMinimum {
  int scale;
  int minimum;
};

// Eight pairs of 6-bit numbers in 12 bytes, shared by q4_k and q5_k.
ScaleAndMinimum k4_scale(Bytes scales, int group) noexcept {
  if (group < 4) return {scales[group] & 63, scales[group + 4] & 63};
  return {(scales[group + 4] & 15) | ((scales[group - 4] >> 6) << 4),
          (scales[group + 4] >> 4) | ((scales[group] >> 6) << 4)};
}

// 256 weights in 8 groups of 32; a run of 32 bytes holds one group's low and the next one's high
// nibbles.
void q4_k_block(Bytes block, float* out) noexcept {
  const float scale = half(block);
  const float minimum = half(block + 2);
  const Bytes scales = block + 4;
  const Bytes nibbles = block + 16;
  for (int group = 0; group < 8; ++group) {
    const ScaleAndMinimum pair = k4_scale(scales, group);
    const float group_scale = scale * static_cast<float>(pair.scale);
    const float group_minimum = minimum * static_cast<float>(pair.minimum);
    const Bytes bytes = nibbles + (group / 2) * 32;
    const int shift = (group % 2) * 4;
    for (int i = 0; i < 32; ++i) {
      out[group * 32 + i] =
          group_scale * static_cast<float>((bytes[i] >> shift) & 15) - group_minimum;
    }
  }
}

// As q4_k, with fifth bits: bit `group` of 32 bytes.
void q5_k_block(Bytes block, float* out) noexcept {
  const float scale = half(block);
  const float minimum = half(block + 2);
  const Bytes scales = block + 4;
  const Bytes high = block + 16;
  const Bytes nibbles = block + 48;
  for (int group = 0; group < 8; ++group) {
    const ScaleAndMinimum pair = k4_scale(scales, group);
    const float group_scale = scale * static_cast<float>(pair.scale);
    const float group_minimum = minimum * static_cast<float>(pair.minimum);
    const Bytes bytes = nibbles + (group / 2) * 32;
    const int shift = (group % 2) * 4;
    for (int i = 0; i < 32; ++i) {
      const int weight = ((bytes[i] >> shift) & 15) | (((high[i] >> group) & 1) << 4);
      out[group * 32 + i] = group_scale * static_cast<float>(weight) - group_minimum;
    }
  }
}

// 256 weights in 16 groups of 16 with signed 8-bit scales: low nibbles, two high bits, minus 32.
void q6_k_block(Bytes block, float* out) noexcept {
  const Bytes low = block;
  const Bytes high = block + 128;
  const Bytes scales = block + 192;
  const float scale = half(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int part = i / 128;       // each half has 64 low and 32 high bytes
    const int quarter = i % 128 / 32;
    const int lane = i % 32;
    const int nibble = (low[part * 64 + (quarter % 2) * 32 + lane] >> (quarter / 2 * 4)) & 15;
    const int top = (high[part * 32 + lane] >> (quarter * 2)) & 3;
    const float group_scale = scale * static_cast<float>(signed_byte(scales[i / 16]));
    out[i] = group_scale * static_cast<float>((nibble | (top << 4)) - 32);
  }
}

using BlockDecoder = void (*)(Bytes, float*) noexcept;

BlockDecoder decoder(TensorType type) noexcept {
  switch (type) {
    case TensorType::kF32: return f32_block;
    case TensorType::kF16: return f16_block;
    case TensorType::kBF16: return bf16_block;
    case TensorType::kQ4_0: return q4_0_block;
    case TensorType::kQ4_1: return q4_1_block;
    case TensorType::kQ5_0: return q5_0_block;
    case TensorType::kQ5_1: return q5_1_block;
    case TensorType::kQ8_0: return q8_0_block;
    case TensorType::kQ2_K: return q2_k_block;
    case TensorType::kQ3_K: return q3_k_block;
    case TensorType::kQ4_K: return q4_k_block;
    case TensorType::kQ5_K: return q5_k_block;
    case TensorType::kQ6_K: return q6_k_block;
  }
  check_failed("a supported tensor type", __FILE__, __LINE__);
}

}  // namespace

float half_to_float(std::uint16_t bits) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 31u;
  const std::uint32_t fraction = bits & 1023u;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  const std::uint32_t wide_exponent = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | (wide_exponent << 23) | (fraction << 13));
}

float bfloat16_to_float(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

void dequantize(TensorType type, std::span<const std::byte> bytes,
                std::span<float> out) noexcept {
  const TensorTypeTraits& packing = traits(type);
  PATERNOSTER_CHECK(out.size() % packing.block_elements == 0);
  PATERNOSTER_CHECK(bytes.size() == bytes_of(type, out.size()));
  const BlockDecoder decode = decoder(type);
  const auto* from = reinterpret_cast<Bytes>(bytes.data());
  for (std::size_t at = 0; at < out.size(); at += packing.block_elements) {
    decode(from, out.data() + at);
    from += packing.block_bytes;
  }
}

}  // namespace paternoster::model
