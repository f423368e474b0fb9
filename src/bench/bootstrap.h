// How far a figure of a run could have been off by chance: bootstrap intervals.
//
// Requests that overlap are not independent: one long queue slows all of its neighbours. So blocks of
// consecutive values are drawn again, not single ones (moving blocks, Kuensch 1989), of about n^(1/3)
// values. Percentile intervals; equal seeds give equal intervals. Values stand in the order of time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace paternoster::bench {

struct Interval {
  double low = 0;
  double high = 0;
};

// A percentile (0..100), or the mean.
struct Statistic {
  std::optional<double> percent;
};
inline constexpr Statistic kMean{};

double value_of(Statistic statistic, std::span<const double> values);

// None for fewer than eight values.
std::optional<Interval> interval_of(Statistic statistic, std::span<const double> values, double confidence,
                                    std::uint64_t seed);

// Of statistic(after) - statistic(before), drawn independently.
std::optional<Interval> interval_of_difference(Statistic statistic, std::span<const double> before,
                                               std::span<const double> after, double confidence,
                                               std::uint64_t seed);

}  // namespace paternoster::bench
