#include "kernels/matmul.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/reference.h"
#include "kernels/test_support.h"

namespace paternoster::kernels {
namespace {

constexpr std::size_t kTokenCounts[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 33, 131};

Activations activations_of(const std::vector<float>& values, std::size_t tokens, std::size_t cols) {
  Activations out;
  out.resize(tokens, cols);
  for (std::size_t t = 0; t < tokens; ++t) {
    std::copy_n(values.data() + t * cols, cols, out.values(t));
  }
  quantise(out, 0, tokens);
  return out;
}

std::vector<float> multiply(const PackedMatrix& weights, const Activations& in) {
  std::vector<float> out(in.rows() * weights.rows(), NAN);
  matmul(weights, in, {0, in.rows()}, {0, weights.tiles()}, out.data(), weights.rows());
  return out;
}

// Sum over the inputs of |largest weight of the row * a|: what float rounding is measured against (a
// zero point is added as a float, so its rounding counts even where weights are small).
double magnitude(const PackedMatrix& weights, std::size_t row, const float* in) {
  std::vector<float> w(weights.cols());
  dequantise_row(weights, row, w.data());
  double largest = 0.0, total = 0.0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    largest = std::max(largest, std::fabs(static_cast<double>(w[i])));
    total += std::fabs(static_cast<double>(in[i]));
  }
  return largest * total;
}

// An activation is off by at most half a step, largest / 254; so an output by at most the sum over
// blocks of sum |w| * largest / 254. Float rounding adds little.
double bound(const PackedMatrix& weights, std::size_t row, const float* in) {
  if (!is_quantised(weights.type())) {
    return 1e-5 * magnitude(weights, row, in) + 1e-6;
  }
  std::vector<float> w(weights.cols());
  dequantise_row(weights, row, w.data());
  double total = 1e-5 * magnitude(weights, row, in) + 1e-6;
  for (std::size_t b = 0; b < w.size(); b += 32) {
    double weight = 0.0, largest = 0.0;
    for (std::size_t i = b; i < b + 32; ++i) {
      weight += std::fabs(static_cast<double>(w[i]));
      largest = std::max(largest, std::fabs(static_cast<double>(in[i])));
    }
    total += weight * largest / 254.0 * 1.0001;
  }
  return total;
}

class MatmulTest : public testing::TestWithParam<TensorType> {};

TEST_P(MatmulTest, EveryOutputIsWithinTheStatedBoundOfTheReference) {
  const TensorType type = GetParam();
  for (const std::size_t cols : {std::size_t{256}, std::size_t{1536}}) {
    for (const std::size_t rows : {std::size_t{1}, std::size_t{16}, std::size_t{37}}) {
      const auto weights =
          PackedMatrix::pack(type, rows, cols, random_tensor(type, rows, cols, 7 * cols + rows));
      ASSERT_TRUE(weights) << weights.error().message;
      const auto values = random_floats(5, 3 * cols);
      const auto out = multiply(*weights, activations_of(values, 3, cols));
      for (std::size_t t = 0; t < 3; ++t) {
        std::vector<float> expected(rows);
        reference::matmul(*weights, values.data() + t * cols, expected.data());
        for (std::size_t r = 0; r < rows; ++r) {
          EXPECT_NEAR(out[t * rows + r], expected[r],
                      bound(*weights, r, values.data() + t * cols))
              << type_name(type) << " " << rows << " x " << cols << " row " << r;
        }
      }
    }
  }
}

TEST_P(MatmulTest, ATokenAloneEqualsTheSameTokenInAnyBatchBitForBit) {
  const TensorType type = GetParam();
  const std::size_t rows = 40, cols = 768;
  const auto weights = PackedMatrix::pack(type, rows, cols, random_tensor(type, rows, cols, 11));
  ASSERT_TRUE(weights);
  const auto values = random_floats(6, 131 * cols);
  std::vector<float> alone;
  for (std::size_t t = 0; t < 131; ++t) {
    const std::vector<float> one(values.begin() + t * cols, values.begin() + (t + 1) * cols);
    const auto out = multiply(*weights, activations_of(one, 1, cols));
    alone.insert(alone.end(), out.begin(), out.end());
  }
  for (const std::size_t tokens : kTokenCounts) {
    const auto out = multiply(*weights, activations_of(values, tokens, cols));
    EXPECT_EQ(std::memcmp(out.data(), alone.data(), out.size() * sizeof(float)), 0)
        << type_name(type) << " with " << tokens << " tokens";
  }
}

TEST_P(MatmulTest, EveryInstructionSetGivesTheSameBits) {
  const TensorType type = GetParam();
  const std::size_t rows = 23, cols = 1280;
  const auto weights = PackedMatrix::pack(type, rows, cols, random_tensor(type, rows, cols, 13));
  ASSERT_TRUE(weights);
  for (const std::size_t tokens : {std::size_t{1}, std::size_t{4}, std::size_t{9}}) {
    const auto values = random_floats(tokens, tokens * cols, 3.0f);
    std::vector<float> expected;
    for (const NamedTable& named : runnable_tables()) {
      const UseTable scope(named);
      const auto out = multiply(*weights, activations_of(values, tokens, cols));
      expected = expected.empty() ? out : expected;
      EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0)
          << type_name(type) << " on " << named.name << " with " << tokens << " tokens";
    }
  }
}

TEST_P(MatmulTest, RangesOfTokensAndTilesPutTogetherEqualTheWhole) {
  const TensorType type = GetParam();
  const std::size_t rows = 70, cols = 256, tokens = 11;
  const auto weights = PackedMatrix::pack(type, rows, cols, random_tensor(type, rows, cols, 17));
  ASSERT_TRUE(weights);
  const auto in = activations_of(random_floats(8, tokens * cols), tokens, cols);
  const auto whole = multiply(*weights, in);
  std::vector<float> parts(tokens * rows, NAN);
  for (const Range part : {Range{0, 2}, Range{2, 3}, Range{3, 11}}) {
    for (const Range tiles : {Range{0, 1}, Range{1, 4}, Range{4, 5}}) {
      matmul(*weights, in, part, tiles, parts.data(), rows);
    }
  }
  EXPECT_EQ(std::memcmp(parts.data(), whole.data(), whole.size() * sizeof(float)), 0);
}

TEST_P(MatmulTest, ExtremeIntegersDoNotOverflow) {
  // All quants at their largest against activations at +-127 in the same direction.
  const TensorType type = GetParam();
  const std::size_t rows = 16, cols = 512;
  auto bytes = random_tensor(type, rows, cols, 19, 0.01f);
  if (is_quantised(type)) {
    const BlockSize block = block_size(type);
    const auto offsets = half_offsets(type);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bool scale = false;
      for (const std::size_t offset : offsets) {
        scale |= i % block.bytes == offset || i % block.bytes == offset + 1;
      }
      bytes[i] = scale ? bytes[i] : std::byte(type == TensorType::kQ8_0 ? 0x80 : 0xFF);
    }
  }
  const auto weights = PackedMatrix::pack(type, rows, cols, bytes);
  ASSERT_TRUE(weights);
  for (const float sign : {1.0f, -1.0f}) {
    const std::vector<float> values(6 * cols, sign);
    for (const NamedTable& named : runnable_tables()) {
      const UseTable scope(named);
      const auto out = multiply(*weights, activations_of(values, 6, cols));
      std::vector<float> expected(rows);
      reference::matmul(*weights, values.data(), expected.data());
      for (std::size_t i = 0; i < out.size(); ++i) {
        EXPECT_NEAR(out[i], expected[i % rows],
                    1e-5 * magnitude(*weights, i % rows, values.data()) + 1e-6)
            << type_name(type) << " on " << named.name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, MatmulTest, testing::ValuesIn(kAllTypes),
                         [](const auto& tested) { return std::string(type_name(tested.param)); });

TEST(Matmul, AddingStoresTheSumWithWhatWasThere) {
  const auto weights = PackedMatrix::pack(TensorType::kQ4_1, 20, 64,
                                          random_tensor(TensorType::kQ4_1, 20, 64, 23));
  ASSERT_TRUE(weights);
  for (const std::size_t tokens : {std::size_t{2}, std::size_t{9}}) {
    const auto in = activations_of(random_floats(9, tokens * 64), tokens, 64);
    const auto product = multiply(*weights, in);
    auto out = random_floats(10, tokens * 20);
    const auto before = out;
    matmul(*weights, in, {0, tokens}, {0, 2}, out.data(), 20, Store::kAdd);
    for (std::size_t i = 0; i < out.size(); ++i) {
      EXPECT_EQ(out[i], before[i] + product[i]);
    }
  }
}

TEST(Matmul, ZeroActivationsAndTinyOnesGiveFiniteResults) {
  const auto weights = PackedMatrix::pack(TensorType::kQ4_1, 16, 64,
                                          random_tensor(TensorType::kQ4_1, 16, 64, 29));
  ASSERT_TRUE(weights);
  for (const float value : {0.0f, -0.0f, 1e-40f, 1e-31f, 3e38f}) {
    const auto out = multiply(*weights, activations_of(std::vector<float>(64, value), 1, 64));
    for (const float x : out) {
      EXPECT_TRUE(std::isfinite(x) || value > 1.0f) << value;
    }
  }
}

TEST(Quantise, EveryValueIsWithinHalfAStepAndSumsAreExact) {
  const auto values = random_floats(31, 96, 5.0f);
  const auto in = activations_of(values, 1, 96);
  for (std::size_t b = 0; b < 3; ++b) {
    const ActivationBlock& info = in.infos(0)[b];
    std::int32_t sum = 0, low = 0;
    for (std::size_t i = 0; i < 32; ++i) {
      const int q = in.quants(0)[32 * b + i];
      EXPECT_LE(std::abs(q), 127);
      EXPECT_NEAR(info.scale * static_cast<float>(q), values[32 * b + i], info.scale * 0.5001f);
      sum += q;
      low += i < 16 ? q : 0;
    }
    EXPECT_EQ(info.sum, sum);
    EXPECT_EQ(info.sum_low, low);
    EXPECT_EQ(info.scaled_sum, info.scale * static_cast<float>(sum));
  }
}

TEST(Quantise, ColumnsBeyondTheLastAreZeros) {
  const auto in = activations_of(random_floats(37, 40), 1, 40);
  for (std::size_t i = 40; i < 64; ++i) {
    EXPECT_EQ(in.quants(0)[i], 0);
  }
}

}  // namespace
}  // namespace paternoster::kernels
