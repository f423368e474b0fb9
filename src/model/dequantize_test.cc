#include "model/dequantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace paternoster::model {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class Dequantize : public testing::TestWithParam<TensorTypeTraits> {};

// The goldens are what the PyPI package `gguf` decodes (scripts/make_dequantize_goldens.py).
TEST_P(Dequantize, EqualsTheReferenceDecoderBitForBit) {
  const TensorTypeTraits type = GetParam();
  const std::string golden = read_file(std::string(PATERNOSTER_SOURCE_DIR) +
                                       "/tests/golden/dequantize/" + std::string(type.name) + ".bin");
  ASSERT_GT(golden.size(), 4u);
  std::uint32_t elements = 0;
  std::memcpy(&elements, golden.data(), sizeof elements);
  const std::size_t packed_bytes = bytes_of(type.type, elements);
  ASSERT_EQ(golden.size(), 4 + packed_bytes + elements * sizeof(float));
  std::vector<float> values(elements);
  dequantize(type.type, std::as_bytes(std::span(golden)).subspan(4, packed_bytes), values);
  for (std::uint32_t at = 0; at < elements; ++at) {
    float expected = 0;
    std::memcpy(&expected, golden.data() + 4 + packed_bytes + at * sizeof(float), sizeof expected);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(values[at]), std::bit_cast<std::uint32_t>(expected))
        << "element " << at << ": " << values[at] << " for " << expected;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryType, Dequantize,
                         testing::ValuesIn(tensor_types().begin(), tensor_types().end()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(HalfToFloat, IsExactForAllHalves) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = half_to_float(static_cast<std::uint16_t>(bits));
    const std::uint32_t exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent == 31 && fraction != 0) {
      EXPECT_TRUE(std::isnan(value));
      continue;
    }
    const double magnitude = exponent == 31  ? INFINITY
                             : exponent == 0 ? std::ldexp(fraction, -24)
                                             : std::ldexp(1024 + fraction, int(exponent) - 25);
    ASSERT_EQ(std::fabs(static_cast<double>(value)), magnitude) << bits;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
  }
}

TEST(TensorTypes, AreNamedBothWays) {
  for (const TensorTypeTraits& type : tensor_types()) {
    const auto number = static_cast<std::uint32_t>(type.type);
    EXPECT_EQ(tensor_type_of(number), type.type);
    EXPECT_EQ(gguf_type_name(number), type.name);
  }
  EXPECT_FALSE(tensor_type_of(4).has_value());
  EXPECT_EQ(gguf_type_name(99), "unknown");
}

}  // namespace
}  // namespace paternoster::model
