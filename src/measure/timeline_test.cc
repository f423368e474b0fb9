#include "measure/timeline.h"

#include <gtest/gtest.h>

namespace paternoster::measure {
namespace {

constexpr std::int64_t kWholeSecond = 1'000'000'000;

TEST(Timeline, KeepsMeansAndSumsHoweverLongTheRun) {
  Timeline timeline;
  double tokens = 0;
  for (std::int64_t step = 0; step < 50000; ++step) {
    // Running 4 in the first half of the time, 8 in the second.
    const double running = step < 25000 ? 4 : 8;
    timeline.add(step * kWholeSecond, (step + 1) * kWholeSecond, {running, 1, 0.5, running, 0, 0});
    tokens += running;
  }
  const auto points = timeline.points();
  EXPECT_LE(points.size(), Timeline::kPoints);
  EXPECT_GT(points.size(), Timeline::kPoints / 2);
  double seen = 0;
  double seconds = 0;
  for (const auto& point : points) {
    seen += point.moment.output_tokens;
    seconds += point.seconds;
  }
  EXPECT_NEAR(seen, tokens, 1e-6 * tokens);
  EXPECT_NEAR(seconds, 50000, 1e-6);
  EXPECT_DOUBLE_EQ(points.front().moment.running, 4);
  EXPECT_DOUBLE_EQ(points[points.size() - 2].moment.running, 8);
  EXPECT_DOUBLE_EQ(points[3].moment.kv_used, 0.5);
}

TEST(Timeline, SpreadsALongStretchOverItsPoints) {
  Timeline timeline;
  timeline.add(0, 1000, {1, 0, 0, 0, 0, 0});
  timeline.add(0, 10 * kWholeSecond, {2, 0, 0, 100, 0, 0});
  timeline.add(10 * kWholeSecond, 10 * kWholeSecond, {0, 0, 0, 1, 0, 0});
  double seen = 0;
  for (const auto& point : timeline.points()) seen += point.moment.output_tokens;
  EXPECT_NEAR(seen, 101, 1e-6);
}

}  // namespace
}  // namespace paternoster::measure
