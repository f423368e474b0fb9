#include "bench/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "workload/random_stream.h"

namespace paternoster::bench {
namespace {

constexpr std::size_t kFewest = 8;
constexpr double kMostDraws = 2e7;  // values drawn for one interval

std::size_t resamples(std::size_t values) {
  return static_cast<std::size_t>(std::clamp(kMostDraws / static_cast<double>(values), 200.0, 2000.0));
}

void draw_blocks(std::span<const double> values, workload::RandomStream& random, std::vector<double>& drawn) {
  const auto block = static_cast<std::size_t>(std::max(1.0, std::cbrt(static_cast<double>(values.size()))));
  drawn.clear();
  while (drawn.size() < values.size()) {
    const std::size_t begin = random.below(values.size() - block + 1);
    const std::size_t size = std::min(block, values.size() - drawn.size());
    drawn.insert(drawn.end(), values.begin() + begin, values.begin() + begin + size);
  }
}

// As numpy interpolates; reorders the values.
double percentile_of(std::span<double> values, double percent) {
  const double place = percent / 100 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), values.begin() + below, values.end());
  const double low = values[static_cast<std::size_t>(below)];
  if (below + 1 >= std::ssize(values)) return low;
  const double high = *std::min_element(values.begin() + below + 1, values.end());
  return low + (high - low) * (place - static_cast<double>(below));
}

double statistic_of(Statistic statistic, std::span<double> values) {
  if (statistic.percent) return percentile_of(values, *statistic.percent);
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Interval middle(std::vector<double>& figures, double confidence) {
  const double tail = (1 - confidence) / 2 * 100;
  Interval interval;
  interval.low = percentile_of(figures, tail);
  interval.high = percentile_of(figures, 100 - tail);
  return interval;
}

}  // namespace

double value_of(Statistic statistic, std::span<const double> values) {
  if (values.empty()) return 0;
  std::vector<double> copy(values.begin(), values.end());
  return statistic_of(statistic, copy);
}

std::optional<Interval> interval_of(Statistic statistic, std::span<const double> values, double confidence,
                                    std::uint64_t seed) {
  if (values.size() < kFewest) return std::nullopt;
  workload::RandomStream random(seed, 101);
  std::vector<double> drawn;
  std::vector<double> figures(resamples(values.size()));
  for (double& figure : figures) {
    draw_blocks(values, random, drawn);
    figure = statistic_of(statistic, drawn);
  }
  return middle(figures, confidence);
}

std::optional<Interval> interval_of_difference(Statistic statistic, std::span<const double> before,
                                               std::span<const double> after, double confidence,
                                               std::uint64_t seed) {
  if (before.size() < kFewest || after.size() < kFewest) return std::nullopt;
  workload::RandomStream random(seed, 102);
  std::vector<double> drawn;
  std::vector<double> figures(resamples(std::max(before.size(), after.size())));
  for (double& figure : figures) {
    draw_blocks(after, random, drawn);
    figure = statistic_of(statistic, drawn);
    draw_blocks(before, random, drawn);
    figure -= statistic_of(statistic, drawn);
  }
  return middle(figures, confidence);
}

}  // namespace paternoster::bench
