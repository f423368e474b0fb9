#include "kernels/unpack.h"

#include <cstring>

#include "base/check.h"

namespace paternoster::kernels {
namespace {

std::uint16_t load_u16(const std::uint8_t* bytes) {
  return static_cast<std::uint16_t>(bytes[0] | (bytes[1] << 8));
}

void unpack_nibbles(const std::uint8_t* quants, std::uint8_t* u) {
  for (int i = 0; i < 16; ++i) {
    u[i] = quants[i] & 15u;
    u[i + 16] = quants[i] >> 4;
  }
}

// The fifth bits of Q5_0 and Q5_1: one 32-bit word.
void add_fifth_bits(const std::uint8_t* high, std::uint8_t* u) {
  std::uint32_t bits;
  std::memcpy(&bits, high, 4);
  for (int i = 0; i < 32; ++i) {
    u[i] = static_cast<std::uint8_t>(u[i] | (((bits >> i) & 1u) << 4));
  }
}

// Scale and minimum j of the eight that Q4_K and Q5_K squeeze into twelve bytes, six bits each.
void unpack_six_bits(const std::uint8_t* q, std::size_t j, std::int8_t* scale, std::int8_t* minimum) {
  if (j < 4) {
    *scale = static_cast<std::int8_t>(q[j] & 63u);
    *minimum = static_cast<std::int8_t>(q[j + 4] & 63u);
  } else {
    *scale = static_cast<std::int8_t>((q[j + 4] & 15u) | ((q[j - 4] >> 6) << 4));
    *minimum = static_cast<std::int8_t>((q[j + 4] >> 4) | ((q[j] >> 6) << 4));
  }
}

// Two bits each of Q2_K and Q3_K: 32 bytes hold 128 inputs.
void unpack_crumbs(const std::uint8_t* quants, std::size_t j, std::uint8_t* u) {
  const std::uint8_t* bytes = quants + j / 4 * 32;
  for (std::size_t i = 0; i < 32; ++i) {
    u[i] = (bytes[i] >> (2 * (j % 4))) & 3u;
  }
}

void unpack_q2_k(const std::uint8_t* super, std::size_t j, UnpackedBlock& out) {
  unpack_crumbs(super + 16, j, out.u);
  for (std::size_t set = 0; set < 2; ++set) {
    out.factor_d[set] = static_cast<std::int8_t>(super[2 * j + set] & 15u);
    out.factor_m[set] = static_cast<std::int8_t>(super[2 * j + set] >> 4);
  }
}

void unpack_q3_k(const std::uint8_t* super, std::size_t j, UnpackedBlock& out) {
  const std::uint8_t* scales = super + 96;
  unpack_crumbs(super + 32, j, out.u);
  for (std::size_t i = 0; i < 32; ++i) {
    out.u[i] = static_cast<std::uint8_t>(out.u[i] | (((super[i] >> j) & 1u) << 2));
  }
  for (std::size_t set = 0; set < 2; ++set) {
    const std::size_t s = 2 * j + set;
    const int low = s < 8 ? scales[s] & 15 : scales[s - 8] >> 4;
    const int high = (scales[8 + s % 4] >> (2 * (s / 4))) & 3;
    out.factor_d[set] = static_cast<std::int8_t>((low | (high << 4)) - 32);
  }
}

void unpack_q4_k(const std::uint8_t* super, std::size_t j, UnpackedBlock& out) {
  const std::uint8_t* quants = super + 16 + j / 2 * 32;
  for (std::size_t i = 0; i < 32; ++i) {
    out.u[i] = j % 2 == 0 ? quants[i] & 15u : quants[i] >> 4;
  }
  unpack_six_bits(super + 4, j, &out.factor_d[0], &out.factor_m[0]);
}

void unpack_q5_k(const std::uint8_t* super, std::size_t j, UnpackedBlock& out) {
  const std::uint8_t* high = super + 16;
  const std::uint8_t* quants = super + 48 + j / 2 * 32;
  for (std::size_t i = 0; i < 32; ++i) {
    const unsigned low = j % 2 == 0 ? quants[i] & 15u : quants[i] >> 4;
    out.u[i] = static_cast<std::uint8_t>(low | (((high[i] >> j) & 1u) << 4));
  }
  unpack_six_bits(super + 4, j, &out.factor_d[0], &out.factor_m[0]);
}

void unpack_q6_k(const std::uint8_t* super, std::size_t j, UnpackedBlock& out) {
  const std::size_t half = j / 4, quarter = j % 4;
  const std::uint8_t* low = super + half * 64 + (quarter % 2) * 32;
  const std::uint8_t* high = super + 128 + half * 32;
  for (std::size_t i = 0; i < 32; ++i) {
    const unsigned four = quarter < 2 ? low[i] & 15u : low[i] >> 4;
    out.u[i] = static_cast<std::uint8_t>(four | (((high[i] >> (2 * quarter)) & 3u) << 4));
  }
  out.factor_d[0] = static_cast<std::int8_t>(super[192 + 2 * j]);
  out.factor_d[1] = static_cast<std::int8_t>(super[192 + 2 * j + 1]);
}

std::uint16_t negated(std::uint16_t half) { return half ^ 0x8000u; }

}  // namespace

UnpackedBlock unpack_block(TensorType type, const std::uint8_t* row, std::size_t block) {
  UnpackedBlock out{};
  const BlockSize size = block_size(type);
  const std::size_t j = block * 32 % size.elements / 32;
  const std::uint8_t* bytes = row + block * 32 / size.elements * size.bytes;
  switch (type) {
    case TensorType::kQ4_0:
      out.half_d = load_u16(bytes);
      unpack_nibbles(bytes + 2, out.u);
      break;
    case TensorType::kQ4_1:
      out.half_d = load_u16(bytes);
      out.half_m = load_u16(bytes + 2);
      unpack_nibbles(bytes + 4, out.u);
      break;
    case TensorType::kQ5_0:
      out.half_d = load_u16(bytes);
      unpack_nibbles(bytes + 6, out.u);
      add_fifth_bits(bytes + 2, out.u);
      break;
    case TensorType::kQ5_1:
      out.half_d = load_u16(bytes);
      out.half_m = load_u16(bytes + 2);
      unpack_nibbles(bytes + 8, out.u);
      add_fifth_bits(bytes + 4, out.u);
      break;
    case TensorType::kQ8_0:
      out.half_d = load_u16(bytes);
      for (int i = 0; i < 32; ++i) {
        out.u[i] = bytes[2 + i] ^ 0x80u;  // int8 + 128
      }
      break;
    case TensorType::kQ2_K: unpack_q2_k(bytes, j, out); break;
    case TensorType::kQ3_K: unpack_q3_k(bytes, j, out); break;
    case TensorType::kQ4_K: unpack_q4_k(bytes, j, out); break;
    case TensorType::kQ5_K: unpack_q5_k(bytes, j, out); break;
    case TensorType::kQ6_K: unpack_q6_k(bytes, j, out); break;
    default: PATERNOSTER_CHECK(false);
  }
  return out;
}

UnpackedSuper unpack_super(TensorType type, const std::uint8_t* row, std::size_t super) {
  const std::uint8_t* bytes = row + super * block_size(type).bytes;
  switch (type) {
    case TensorType::kQ2_K: return {load_u16(bytes + 80), negated(load_u16(bytes + 82))};
    case TensorType::kQ3_K: return {load_u16(bytes + 108), 0};
    case TensorType::kQ4_K: return {load_u16(bytes), negated(load_u16(bytes + 2))};
    case TensorType::kQ5_K: return {load_u16(bytes), negated(load_u16(bytes + 2))};
    case TensorType::kQ6_K: return {load_u16(bytes + 208), 0};
    default: PATERNOSTER_CHECK(false);
  }
  return {};
}

}  // namespace paternoster::kernels
