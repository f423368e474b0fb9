#include "bench/sweep.h"

#include <algorithm>

namespace paternoster::bench {
namespace {

constexpr double kLeastShare = 1.0 / 64;
constexpr double kMostShare = 4096;
constexpr double kNearBest = 0.9;

std::optional<double> knee_of_rates(std::span<const SweepPoint> points) {
  std::optional<double> knee;
  for (const SweepPoint& point : points) {
    if (!point.run.keeps_up()) break;
    knee = point.load;
  }
  return knee;
}

std::optional<double> knee_of_streams(std::span<const SweepPoint> points) {
  double best = 0;
  for (const SweepPoint& point : points) best = std::max(best, point.run.summary.output_rate());
  for (const SweepPoint& point : points) {
    if (best > 0 && point.run.summary.output_rate() >= kNearBest * best) return point.load;
  }
  return std::nullopt;
}

}  // namespace

SweepVerdict judge(std::span<const SweepPoint> points, bool closed) {
  SweepVerdict verdict;
  if (points.empty()) return verdict;
  verdict.knee = closed ? knee_of_streams(points) : knee_of_rates(points);
  const bool judged = !points.front().run.summary.objectives.empty();
  for (const SweepPoint& point : points) {
    if (!judged || !point.run.summary.meets_objectives()) break;
    verdict.best = point.load;
  }
  const auto& limit = judged ? verdict.best : verdict.knee;
  verdict.open_ended = limit && *limit == points.back().load;
  return verdict;
}

std::optional<double> find_limit(double start, double precision, const std::function<bool(double)>& meets) {
  double low = start;
  double high = start;
  if (meets(start)) {
    do {
      low = high;
      high *= 2;
      if (high > start * kMostShare) return low;
    } while (meets(high));
  } else {
    do {
      high = low;
      low /= 2;
      if (low < start * kLeastShare) return std::nullopt;
    } while (!meets(low));
  }
  while (high / low > 1 + precision) {
    const double middle = (low + high) / 2;
    (meets(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace paternoster::bench
