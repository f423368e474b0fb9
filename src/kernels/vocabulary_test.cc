#include "kernels/vocabulary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/reference.h"
#include "kernels/test_support.h"

namespace paternoster::kernels {
namespace {

// Coarse values, so that many are equal.
std::vector<float> coarse(std::uint64_t seed, std::size_t count) {
  auto out = random_floats(seed, count, 50.0f);
  for (float& x : out) {
    x = std::round(x);
  }
  return out;
}

std::vector<ScoredToken> sorted(const std::vector<float>& logits) {
  std::vector<ScoredToken> out;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    out.push_back({static_cast<std::int32_t>(i), logits[i]});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.logit > b.logit; });
  return out;
}

TEST(Vocabulary, ArgmaxIsTheLowestOfTheLargest) {
  for (const std::size_t count : {1, 15, 16, 17, 1024, 5000}) {
    const auto logits = coarse(count, count);
    EXPECT_EQ(argmax(logits), sorted(logits).front().token) << count;
  }
}

TEST(Vocabulary, TopKEqualsASortForEveryK) {
  const auto logits = coarse(109, 3001);
  const auto expected = sorted(logits);
  std::vector<ScoredToken> best;
  for (const std::size_t k : {0, 1, 2, 20, 40, 1000, 3001, 4000}) {
    top_k(logits, k, best);
    ASSERT_EQ(best.size(), std::min(k, logits.size()));
    for (std::size_t i = 0; i < best.size(); ++i) {
      ASSERT_EQ(best[i].token, expected[i].token) << "k " << k << " at " << i;
      ASSERT_EQ(best[i].logit, expected[i].logit);
    }
  }
}

TEST(Vocabulary, NotANumberNeverWinsAndMinusInfinityMay) {
  std::vector<float> logits(100, -INFINITY);
  EXPECT_EQ(argmax(logits), 0);
  logits[3] = NAN;
  logits[50] = -1e30f;
  EXPECT_EQ(argmax(logits), 50);
  std::vector<ScoredToken> best;
  top_k(logits, 2, best);
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best[0].token, 50);
  EXPECT_EQ(best[1].token, 0);
}

TEST(Vocabulary, LogSumExpEqualsTheReference) {
  for (const std::size_t count : {1, 17, 49152}) {
    const auto logits = random_floats(113, count, 20.0f);
    EXPECT_NEAR(log_sum_exp(logits), reference::log_sum_exp(logits), 1e-5f);
  }
}

TEST(Vocabulary, EveryInstructionSetGivesTheSameBits) {
  const auto logits = random_floats(127, 4099, 20.0f);
  std::vector<float> expected;
  for (const NamedTable& named : runnable_tables()) {
    const UseTable scope(named);
    std::vector<float> all(logits.size());
    all.push_back(exponentials(logits, logits[static_cast<std::size_t>(argmax(logits))], 1.3f,
                               all.data()));
    all.push_back(log_sum_exp(logits));
    expected = expected.empty() ? all : expected;
    EXPECT_EQ(std::memcmp(all.data(), expected.data(), all.size() * sizeof(float)), 0)
        << named.name;
  }
}

TEST(Vocabulary, ExponentialsAreAccurate) {
  const auto logits = random_floats(131, 1000, 30.0f);
  std::vector<float> out(logits.size());
  exponentials(logits, 30.0f, 0.7f, out.data());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double x = static_cast<double>((logits[i] - 30.0f) * 0.7f);
    EXPECT_NEAR(out[i] / std::exp(x), 1.0, 3e-7);
  }
}

}  // namespace
}  // namespace paternoster::kernels
