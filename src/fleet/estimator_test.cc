#include "fleet/estimator.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "fleet/choices.h"

namespace paternoster::fleet {
namespace {

const TimeModel kModel{.prefill_token_ps = 7'000,
                       .prefill_sequence_ps = 11'000,
                       .prefill_position_ps = 13'000,
                       .prefill_base_ps = 17'000,
                       .decode_context_ps = 3'000,
                       .decode_sequence_ps = 5'000,
                       .decode_position_ps = 19'000,
                       .decode_base_ps = 23'000};

TEST(Estimator, TheClosedFormIsTheSumOverTheSteps) {
  for (std::uint64_t round = 0; round < 200; ++round) {
    const Shape shape{.sequences = 1 + static_cast<std::int64_t>(random_u64(1, 0, round) % 40),
                      .input = static_cast<std::int64_t>(random_u64(1, 1, round) % 3000),
                      .iterations = static_cast<std::int64_t>(random_u64(1, 2, round) % 300)};
    const std::int64_t n = shape.sequences;
    std::int64_t steps_ns = 0;
    for (std::int64_t l = shape.input + 1; l <= shape.input + shape.iterations; ++l) {
      steps_ns += 3 * n * l + 5 * n + 19 * l + 23;
    }
    const std::int64_t start_ns = 7 * n * shape.input + 11 * n + 13 * shape.input + 17;
    EXPECT_EQ(prefill_ns(kModel, shape), start_ns);
    EXPECT_EQ(decode_ns(kModel, shape), steps_ns);
    EXPECT_EQ(serve_ns(kModel, shape), start_ns + steps_ns);
  }
}

TEST(Estimator, NothingWrapsAtTheLimitsOfEveryCoefficientAndLength) {
  const std::int64_t most = std::int64_t{1} << 45;
  const Shape largest{.sequences = 1 << 16, .input = 1 << 30, .iterations = 1 << 29};
  Config config;
  config.time = {most, most, most, most, most, most, most, most};
  ASSERT_TRUE(validate(config).has_value());
  EXPECT_EQ(serve_ns(config.time, largest), kMostNs);
  config.time = {-most, -most, -most, -most, -most, -most, -most, -most};
  ASSERT_TRUE(validate(config).has_value());
  EXPECT_EQ(serve_ns(config.time, largest), 0);
}

TEST(Estimator, MemoryIsThePaddedBatchAtItsEnd) {
  const MemoryModel memory{.kv_tokens = 1000, .rules = {}};
  EXPECT_TRUE(fits(memory, {.sequences = 4, .input = 200, .iterations = 50}));
  EXPECT_FALSE(fits(memory, {.sequences = 4, .input = 200, .iterations = 51}));
}

TEST(Estimator, ARuleTableBoundsSequencesByTotalLength) {
  const MemoryModel memory{.kv_tokens = 1 << 30, .rules = {{512, 28}, {1024, 22}}};
  EXPECT_TRUE(fits(memory, {.sequences = 28, .input = 384, .iterations = 128}));
  EXPECT_FALSE(fits(memory, {.sequences = 28, .input = 385, .iterations = 128}));
  EXPECT_TRUE(fits(memory, {.sequences = 22, .input = 385, .iterations = 128}));
  EXPECT_FALSE(fits(memory, {.sequences = 2, .input = 1000, .iterations = 128}));
  EXPECT_TRUE(fits(memory, {.sequences = 1, .input = 1000, .iterations = 128}));  // alone it always may
}

}  // namespace
}  // namespace paternoster::fleet
