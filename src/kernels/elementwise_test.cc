#include "kernels/elementwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/reference.h"
#include "kernels/rope.h"
#include "kernels/test_support.h"

namespace paternoster::kernels {
namespace {

constexpr std::size_t kCounts[] = {1, 5, 15, 16, 17, 64, 576, 1000};

void expect_close(const std::vector<float>& out, const std::vector<float>& expected, float relative) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    ASSERT_NEAR(out[i], expected[i], relative * (std::fabs(expected[i]) + 1e-6f)) << "at " << i;
  }
}

TEST(RmsNorm, EqualsTheReference) {
  for (const std::size_t count : kCounts) {
    const auto in = random_floats(71, count, 4.0f), weight = random_floats(73, count);
    std::vector<float> out(count), expected(count);
    rms_norm(in.data(), weight.data(), 1e-5f, count, out.data());
    reference::rms_norm(in.data(), weight.data(), 1e-5f, count, expected.data());
    expect_close(out, expected, 1e-6f);
  }
}

TEST(RmsNorm, OfZerosIsZero) {
  const std::vector<float> zeros(33, 0.0f), weight(33, 1.0f);
  std::vector<float> out(33, 1.0f);
  rms_norm(zeros.data(), weight.data(), 1e-5f, 33, out.data());
  EXPECT_EQ(out, zeros);
}

TEST(RmsNorm, FusedWithQuantisingEqualsOneAfterTheOther) {
  const auto in = random_floats(79, 576), weight = random_floats(83, 576);
  Activations fused, apart;
  fused.resize(2, 576);
  apart.resize(2, 576);
  rms_norm_quantise(in.data(), weight.data(), 1e-5f, fused, 1);
  rms_norm(in.data(), weight.data(), 1e-5f, 576, apart.values(1));
  quantise(apart, 1, 2);
  EXPECT_EQ(std::memcmp(fused.quants(1), apart.quants(1), 576), 0);
  EXPECT_EQ(std::memcmp(fused.values(1), apart.values(1), 576 * sizeof(float)), 0);
}

TEST(GatedProduct, EqualsTheReferenceOverTheWholeRange) {
  for (const Gate gate : {Gate::kSilu, Gate::kGeluTanh}) {
    std::vector<float> gates;
    for (float x = -120.0f; x < 120.0f; x += 0.0371f) {
      gates.push_back(x);
    }
    gates.push_back(0.0f);
    const auto ups = random_floats(89, gates.size(), 2.0f);
    std::vector<float> out(gates.size()), expected(gates.size());
    gated_product(gate, gates.data(), ups.data(), gates.size(), out.data());
    reference::gated_product(gate, gates.data(), ups.data(), gates.size(), expected.data());
    for (std::size_t i = 0; i < out.size(); ++i) {
      // a gate that is all but shut cancels: the bound is absolute there
      ASSERT_NEAR(out[i], expected[i], 2e-6f * std::fabs(expected[i]) + 3e-6f) << gates[i];
    }
  }
}

TEST(GatedProduct, QuantisedInAnyPiecesIsTheSameToTheBit) {
  for (const std::size_t count : {1, 16, 31, 32, 40, 64, 200, 576, 1536}) {
    const auto gates = random_floats(103, count, 5.0f), ups = random_floats(107, count);
    Activations whole, pieces;
    whole.resize(2, count);
    pieces.resize(2, count);
    gated_product(Gate::kSilu, gates.data(), ups.data(), count, whole.values(1));
    quantise(whole, 1, 2);
    for (std::size_t begin = 0; begin < pieces.blocks(); begin += 3) {
      const std::size_t end = std::min(begin + 3, pieces.blocks());
      gated_product_quantise(Gate::kSilu, gates.data(), ups.data(), pieces, 1, begin, end);
    }
    const auto equal = [](const auto* left, const auto* right, std::size_t size) {
      return std::memcmp(left, right, size * sizeof(*left)) == 0;
    };
    EXPECT_TRUE(equal(whole.values(1), pieces.values(1), whole.padded_cols())) << count;
    EXPECT_TRUE(equal(whole.quants(1), pieces.quants(1), whole.padded_cols())) << count;
    EXPECT_TRUE(equal(whole.wides(1), pieces.wides(1), whole.padded_cols())) << count;
    EXPECT_TRUE(equal(whole.infos(1), pieces.infos(1), whole.blocks())) << count;
  }
}

TEST(Elementwise, EveryInstructionSetGivesTheSameBits) {
  for (const std::size_t count : kCounts) {
    const auto a = random_floats(97, count, 20.0f), b = random_floats(101, count);
    std::vector<float> expected;
    for (const NamedTable& named : runnable_tables()) {
      const UseTable scope(named);
      std::vector<float> all, out(count);
      const auto keep = [&] { all.insert(all.end(), out.begin(), out.end()); };
      rms_norm(a.data(), b.data(), 1e-6f, count, out.data());
      keep();
      gated_product(Gate::kSilu, a.data(), b.data(), count, out.data());
      keep();
      gated_product(Gate::kGeluTanh, a.data(), b.data(), count, out.data());
      keep();
      add(a.data(), count, out.data());
      scale(0.3f, count, out.data());
      keep();
      Activations row;
      row.resize(1, count);
      std::copy(a.begin(), a.end(), row.values(0));
      quantise(row, 0, 1);
      for (std::size_t i = 0; i < row.blocks(); ++i) {
        all.push_back(row.infos(0)[i].scale);
        all.push_back(row.infos(0)[i].scaled_sum);
      }
      all.insert(all.end(), row.quants(0), row.quants(0) + row.padded_cols());
      expected = expected.empty() ? all : expected;
      EXPECT_EQ(std::memcmp(all.data(), expected.data(), all.size() * sizeof(float)), 0)
          << named.name << " with " << count;
    }
  }
}

TEST(Rope, BothPairingsEqualTheReferenceAtNearAndFarPositions) {
  for (const RopePairs pairs : {RopePairs::kAdjacent, RopePairs::kHalves}) {
    for (const std::size_t dims : {std::size_t{64}, std::size_t{40}}) {
      const auto frequencies = rope_frequencies(dims, 1e5);
      for (const std::size_t position : {0, 1, 511, 8191, 131071}) {
        const auto before = random_floats(103, 3 * 64);
        auto out = before, expected = before;
        std::vector<float> angles(dims);
        rope_angles(frequencies, position, angles.data());
        rope(pairs, angles.data(), dims, 3, 64, out.data());
        reference::rope(pairs, frequencies, position, dims, 3, 64, expected.data());
        for (std::size_t i = 0; i < out.size(); ++i) {
          ASSERT_NEAR(out[i], expected[i], 3e-7f);
        }
      }
    }
  }
}

TEST(Rope, PositionZeroChangesNothing) {
  const auto frequencies = rope_frequencies(64, 1e4);
  std::vector<float> angles(64);
  rope_angles(frequencies, 0, angles.data());
  const auto before = random_floats(107, 64);
  auto out = before;
  rope(RopePairs::kHalves, angles.data(), 64, 1, 64, out.data());
  EXPECT_EQ(out, before);
}

TEST(Rope, LinearScalingDividesPositionsAndFactorsDivideFrequencies) {
  const auto plain = rope_frequencies(8, 1e4);
  const auto linear = rope_frequencies(8, 1e4, {.linear_factor = 4.0});
  const std::vector<float> factors = {1.0f, 2.0f, 4.0f, 8.0f};
  const auto divided = rope_frequencies(8, 1e4, {.factors = factors});
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(linear.per_position[i], plain.per_position[i] / 4.0);
    EXPECT_DOUBLE_EQ(divided.per_position[i],
                     plain.per_position[i] / static_cast<double>(factors[i]));
  }
}

TEST(Rope, YarnKeepsFastFrequenciesAndSlowsSlowOnes) {
  const auto plain = rope_frequencies(64, 1e4);
  const auto yarn = rope_frequencies(
      64, 1e4, {.linear_factor = 8.0, .yarn = true, .yarn_original_context = 4096.0});
  EXPECT_DOUBLE_EQ(yarn.per_position.front(), plain.per_position.front());
  EXPECT_DOUBLE_EQ(yarn.per_position.back(), plain.per_position.back() / 8.0);
  EXPECT_NEAR(yarn.magnitude, 1.0 + 0.1 * std::log(8.0), 1e-12);
}

TEST(Rope, YarnMixesAsMuchAsItIsTold) {
  const auto plain = rope_frequencies(64, 1e4);
  RopeScaling scaling{.linear_factor = 8.0, .yarn = true, .yarn_original_context = 4096.0};
  scaling.yarn_extrapolation = 0.5;
  EXPECT_NEAR(rope_frequencies(64, 1e4, scaling).per_position.front(),
              plain.per_position.front() * (0.5 + 0.5 / 8.0), 1e-12);
  scaling.yarn_extrapolation = 0.0;  // linear, with no factor of yarn's own
  const auto none = rope_frequencies(64, 1e4, scaling);
  EXPECT_DOUBLE_EQ(none.per_position.front(), plain.per_position.front() / 8.0);
  EXPECT_DOUBLE_EQ(none.magnitude, 1.0);
}

}  // namespace
}  // namespace paternoster::kernels
