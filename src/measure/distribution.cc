#include "measure/distribution.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace paternoster::measure {
namespace {

// Values below 1024 have a bucket each; above, every power of two has 1024.
constexpr unsigned kDigits = 10;
constexpr std::uint64_t kLinear = std::uint64_t{1} << kDigits;

std::size_t bucket_of(double value) {
  const auto whole = static_cast<std::uint64_t>(std::min(value, 9.0e18));
  if (whole < kLinear) return whole;
  const unsigned shift = static_cast<unsigned>(std::bit_width(whole)) - 1 - kDigits;
  return ((shift + 1) << kDigits) + ((whole >> shift) - kLinear);
}

// The middle of the values that a bucket counts.
double value_of(std::size_t bucket) {
  if (bucket < kLinear) return static_cast<double>(bucket);
  const unsigned shift = static_cast<unsigned>(bucket >> kDigits) - 1;
  const std::uint64_t low = (kLinear + (bucket & (kLinear - 1))) << shift;
  return static_cast<double>(low) + static_cast<double>(std::uint64_t{1} << shift) / 2;
}

}  // namespace

void Distribution::add(double value, std::uint64_t times) {
  if (times == 0) return;
  value = std::max(value, 0.0);
  least_ = count_ == 0 ? value : std::min(least_, value);
  largest_ = std::max(largest_, value);
  const auto weight = static_cast<double>(times);
  const double change = value - mean_;
  count_ += times;
  sum_ += value * weight;
  mean_ += change * weight / static_cast<double>(count_);
  squares_ += weight * change * (value - mean_);
  if (buckets_.empty() && count_ > kExact) spill();
  if (!buckets_.empty()) {
    count_in_bucket(value, times);
    return;
  }
  sorted_ = sorted_ && (values_.empty() || values_.back() <= value);
  values_.insert(values_.end(), times, value);
}

void Distribution::merge(const Distribution& other) {
  if (other.empty()) return;
  if (other.buckets_.empty()) {
    for (const double value : other.values_) add(value);
    return;
  }
  if (buckets_.empty()) spill();
  least_ = count_ == 0 ? other.least_ : std::min(least_, other.least_);
  largest_ = std::max(largest_, other.largest_);
  const double change = other.mean_ - mean_;
  const auto mine = static_cast<double>(count_);
  const auto theirs = static_cast<double>(other.count_);
  squares_ += other.squares_ + change * change * mine * theirs / (mine + theirs);
  mean_ += change * theirs / (mine + theirs);
  count_ += other.count_;
  sum_ += other.sum_;
  buckets_.resize(std::max(buckets_.size(), other.buckets_.size()));
  for (std::size_t at = 0; at < other.buckets_.size(); ++at) buckets_[at] += other.buckets_[at];
}

void Distribution::spill() {
  buckets_.resize(kLinear);
  for (const double value : values_) count_in_bucket(value, 1);
  values_ = {};
}

void Distribution::count_in_bucket(double value, std::uint64_t times) {
  const std::size_t bucket = bucket_of(value);
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  buckets_[bucket] += times;
}

double Distribution::mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

double Distribution::deviation() const {
  return count_ == 0 ? 0 : std::sqrt(std::max(squares_, 0.0) / static_cast<double>(count_));
}

void Distribution::sort() const {
  if (!sorted_) std::ranges::sort(values_);
  sorted_ = true;
}

double Distribution::value_at(std::uint64_t rank) const {
  if (buckets_.empty()) return values_[rank];
  if (rank == 0) return least_;
  if (rank == count_ - 1) return largest_;
  std::uint64_t before = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    before += buckets_[bucket];
    if (before > rank) return std::clamp(value_of(bucket), least_, largest_);
  }
  return largest_;
}

double Distribution::percentile(double percent) const {
  if (count_ == 0) return 0;
  sort();
  const double at = std::clamp(percent, 0.0, 100.0) / 100 * static_cast<double>(count_ - 1);
  const auto rank = static_cast<std::uint64_t>(at);
  const double low = value_at(rank);
  const double part = at - static_cast<double>(rank);
  if (part == 0 || rank + 1 >= count_) return low;
  return low + (value_at(rank + 1) - low) * part;
}

double Distribution::share_within(double limit) const {
  if (count_ == 0) return 1;
  std::uint64_t within = 0;
  if (buckets_.empty()) {
    sort();
    within = static_cast<std::uint64_t>(std::ranges::upper_bound(values_, limit) - values_.begin());
  } else {
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
      if (std::clamp(value_of(bucket), least_, largest_) <= limit) within += buckets_[bucket];
    }
  }
  return static_cast<double>(within) / static_cast<double>(count_);
}

std::vector<Distribution::Point> Distribution::curve(std::size_t points) const {
  std::vector<Point> curve;
  if (count_ == 0 || points < 2) return curve;
  sort();
  const std::uint64_t last = count_ - 1;
  const std::uint64_t most = std::min<std::uint64_t>(points - 1, std::max<std::uint64_t>(last, 1));
  for (std::uint64_t at = 0; at <= most; ++at) {
    const auto rank = static_cast<std::uint64_t>(static_cast<double>(last) * static_cast<double>(at) /
                                                 static_cast<double>(most));
    curve.push_back({value_at(rank), static_cast<double>(rank + 1) / static_cast<double>(count_)});
  }
  return curve;
}

}  // namespace paternoster::measure
