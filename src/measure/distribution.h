// Many values of one kind: their exact count, mean, deviation and range, and percentiles. Percentiles
// are exact, interpolated as numpy does, up to kExact values; from then on values are counted in
// buckets 1/1024 apart in relative terms, so that memory stays flat whatever the run's length.
//
// One thread. Values are nanoseconds or counts: non-negative; a negative one counts as zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace paternoster::measure {

class Distribution {
 public:
  static constexpr std::size_t kExact = std::size_t{1} << 18;

  void add(double value, std::uint64_t times = 1);
  void merge(const Distribution& other);

  std::uint64_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  double sum() const { return sum_; }
  double mean() const;
  double deviation() const;  // of the population
  double least() const { return count_ == 0 ? 0 : least_; }
  double largest() const { return count_ == 0 ? 0 : largest_; }
  // percent in 0..100.
  double percentile(double percent) const;
  double median() const { return percentile(50); }
  // The share of values that are at most `limit`, 0..1; 1 if there are none.
  double share_within(double limit) const;

  struct Point {
    double value;
    double share;  // of values <= value
  };
  // The cumulative distribution as at most `points` points, for plots.
  std::vector<Point> curve(std::size_t points) const;

 private:
  void sort() const;
  void spill();
  void count_in_bucket(double value, std::uint64_t times);
  double value_at(std::uint64_t rank) const;

  std::uint64_t count_ = 0;
  double sum_ = 0;
  double mean_ = 0;      // Welford's: sums of squares of nanoseconds would lose their digits
  double squares_ = 0;
  double least_ = 0;
  double largest_ = 0;
  mutable std::vector<double> values_;  // while exact
  mutable bool sorted_ = true;
  std::vector<std::uint64_t> buckets_;  // once not
};

}  // namespace paternoster::measure
