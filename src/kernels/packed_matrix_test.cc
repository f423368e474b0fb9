#include "kernels/packed_matrix.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/test_support.h"

namespace paternoster::kernels {
namespace {

float half_at(const std::byte* bytes) {
  std::uint16_t half;
  std::memcpy(&half, bytes, 2);
  return half_to_float(half);
}

int byte_at(const std::byte* bytes, std::size_t i) { return std::to_integer<int>(bytes[i]); }

// The format's own definition, written out again without sharing a line with unpack.cc: element i of
// a block.
float defined_value(TensorType type, const std::byte* b, std::size_t i) {
  const std::size_t half = i / 128, quarter = i % 128 / 32, l = i % 32;
  switch (type) {
    case TensorType::kQ4_0:
      return half_at(b) * static_cast<float>((byte_at(b, 2 + i % 16) >> (i / 16 * 4) & 15) - 8);
    case TensorType::kQ4_1:
      return half_at(b) * static_cast<float>(byte_at(b, 4 + i % 16) >> (i / 16 * 4) & 15) +
             half_at(b + 2);
    case TensorType::kQ5_0:
    case TensorType::kQ5_1: {
      const std::size_t at = type == TensorType::kQ5_0 ? 2 : 4;
      const int fifth = byte_at(b, at + i / 8) >> (i % 8) & 1;
      const int u = (byte_at(b, at + 4 + i % 16) >> (i / 16 * 4) & 15) + 16 * fifth;
      return type == TensorType::kQ5_0 ? half_at(b) * static_cast<float>(u - 16)
                                       : half_at(b) * static_cast<float>(u) + half_at(b + 2);
    }
    case TensorType::kQ8_0:
      return half_at(b) * static_cast<float>(static_cast<std::int8_t>(byte_at(b, 2 + i)));
    case TensorType::kQ2_K: {
      const int u = byte_at(b, 16 + half * 32 + l) >> (2 * quarter) & 3;
      const int scale = byte_at(b, i / 16);
      return half_at(b + 80) * static_cast<float>((scale & 15) * u) -
             half_at(b + 82) * static_cast<float>(scale >> 4);
    }
    case TensorType::kQ3_K: {
      const int low = byte_at(b, 32 + half * 32 + l) >> (2 * quarter) & 3;
      const int high = byte_at(b, l) >> (half * 4 + quarter) & 1;
      const std::size_t s = i / 16;
      const int scale_low = byte_at(b, 96 + s % 8) >> (s / 8 * 4) & 15;
      const int scale_high = byte_at(b, 104 + s % 4) >> (s / 4 * 2) & 3;
      return half_at(b + 108) * static_cast<float>(scale_low + 16 * scale_high - 32) *
             static_cast<float>(low + 4 * high - 4);
    }
    case TensorType::kQ4_K:
    case TensorType::kQ5_K: {
      const std::size_t j = i / 32;
      const auto q = [&](std::size_t k) { return byte_at(b, 4 + k); };
      const int scale = j < 4 ? q(j) & 63 : (q(j + 4) & 15) | (q(j - 4) >> 6 << 4);
      const int minimum = j < 4 ? q(j + 4) & 63 : (q(j + 4) >> 4) | (q(j) >> 6 << 4);
      const std::size_t at = type == TensorType::kQ4_K ? 16 : 48;
      int u = byte_at(b, at + j / 2 * 32 + l) >> (j % 2 * 4) & 15;
      u += type == TensorType::kQ5_K ? 16 * (byte_at(b, 16 + l) >> j & 1) : 0;
      return half_at(b) * static_cast<float>(scale * u) -
             half_at(b + 2) * static_cast<float>(minimum);
    }
    case TensorType::kQ6_K: {
      const int low = byte_at(b, half * 64 + quarter % 2 * 32 + l) >> (quarter / 2 * 4) & 15;
      const int high = byte_at(b, 128 + half * 32 + l) >> (2 * quarter) & 3;
      const int scale = static_cast<std::int8_t>(byte_at(b, 192 + i / 16));
      return half_at(b + 208) * static_cast<float>(scale * (low + 16 * high - 32));
    }
    case TensorType::kF16: return half_at(b);
    case TensorType::kBF16: {
      std::uint16_t bits;
      std::memcpy(&bits, b, 2);
      return bfloat16_to_float(bits);
    }
    case TensorType::kF32: {
      float value;
      std::memcpy(&value, b, 4);
      return value;
    }
  }
  return NAN;
}

class PackedMatrixTest : public testing::TestWithParam<TensorType> {};

TEST_P(PackedMatrixTest, EveryWeightComesBackAsTheFormatDefinesIt) {
  const TensorType type = GetParam();
  const BlockSize block = block_size(type);
  const std::size_t rows = 21, cols = 768;
  const auto bytes = random_tensor(type, rows, cols, 3);
  const auto packed = PackedMatrix::pack(type, rows, cols, bytes);
  ASSERT_TRUE(packed) << packed.error().message;
  std::vector<float> row(cols);
  for (std::size_t r = 0; r < rows; ++r) {
    dequantise_row(*packed, r, row.data());
    for (std::size_t c = 0; c < cols; ++c) {
      const std::byte* at =
          bytes.data() + r * row_bytes(type, cols) + c / block.elements * block.bytes;
      const float expected = defined_value(type, at, c % block.elements);
      ASSERT_NEAR(row[c], expected, 2e-6f * (std::fabs(expected) + 1.0f))
          << type_name(type) << " row " << r << " col " << c;
    }
  }
}

TEST_P(PackedMatrixTest, PackingByTilesInAnyOrderEqualsPackingAtOnce) {
  const TensorType type = GetParam();
  const std::size_t rows = 70, cols = 256;
  const auto bytes = random_tensor(type, rows, cols, 5);
  const auto whole = PackedMatrix::pack(type, rows, cols, bytes);
  auto parts = PackedMatrix::create(type, rows, cols);
  ASSERT_TRUE(whole && parts);
  parts->pack_tiles(bytes, 3, 5);
  parts->pack_tiles(bytes, 0, 1);
  parts->pack_tiles(bytes, 1, 3);
  ASSERT_EQ(whole->bytes(), parts->bytes());
  EXPECT_EQ(std::memcmp(whole->tile(0), parts->tile(0), whole->bytes()), 0);
}

INSTANTIATE_TEST_SUITE_P(AllTypes, PackedMatrixTest, testing::ValuesIn(kAllTypes),
                         [](const auto& tested) { return std::string(type_name(tested.param)); });

TEST(PackedMatrix, RefusesWhatCannotBeAMatrixWithAReason) {
  EXPECT_FALSE(PackedMatrix::create(static_cast<TensorType>(99), 16, 32));
  EXPECT_FALSE(PackedMatrix::create(TensorType::kQ4_1, 16, 33));
  EXPECT_FALSE(PackedMatrix::create(TensorType::kQ4_K, 16, 320));
  EXPECT_FALSE(PackedMatrix::create(TensorType::kF32, 0, 32));
  EXPECT_FALSE(PackedMatrix::create(TensorType::kF32, std::size_t{1} << 40, std::size_t{1} << 40));
  const std::vector<std::byte> few(10);
  EXPECT_FALSE(PackedMatrix::pack(TensorType::kQ4_1, 16, 32, few));
}

TEST(PackedMatrix, TakesLittleMoreThanTheFileDoes) {
  const auto q4_1 = PackedMatrix::create(TensorType::kQ4_1, 1024, 1024);
  EXPECT_EQ(q4_1->bytes(), 1024 * row_bytes(TensorType::kQ4_1, 1024));
  const auto q4_k = PackedMatrix::create(TensorType::kQ4_K, 1024, 1024);
  EXPECT_LE(q4_k->bytes(), 1024 * row_bytes(TensorType::kQ4_K, 1024) * 104 / 100);
}

TEST(Half, EveryPatternSurvivesTheWayToFloatAndBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_to_float(half);
    if (!std::isnan(value)) {
      EXPECT_EQ(float_to_half(value), half);
    }
  }
}

}  // namespace
}  // namespace paternoster::kernels
