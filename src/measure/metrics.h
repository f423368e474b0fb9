// The one home of every metric that serving has: cells that any thread may count into, and their text
// for Prometheus. Relaxed atomics only: no writer and no scrape ever waits for another.
//
// Families are made at start by the owner of the Registry, further cells (a tenant's) when they are first
// needed, by one thread: only that and a scrape wait for each other. Cells live as long as the registry
// and are used by reference. A scrape reads each cell for itself: sums across
// cells may be one step apart, but no counter ever goes back.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paternoster::measure {

using Labels = std::vector<std::pair<std::string, std::string>>;

class Counter {
 public:
  void add(std::uint64_t count = 1) { value_.fetch_add(count, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  void add(double change);
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// Counts observations into buckets with inclusive upper bounds, ascending; +Inf is implied.
class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds);
  void observe(double value, std::uint64_t times = 1);

  std::span<const double> bounds() const { return bounds_; }
  // Not cumulative; the last is above every bound.
  std::uint64_t count_in(std::size_t bucket) const {
    return counts_[bucket].load(std::memory_order_relaxed);
  }
  double sum() const { return sum_.load(std::memory_order_relaxed); }
  std::uint64_t count() const;

 private:
  std::vector<double> bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

class Registry {
 public:
  // `common` are the labels of every cell; `alias_common` are those of every alias.
  Registry(Labels common, Labels alias_common);
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // A cell made with an alias is rendered a second time under that name, with alias_labels instead of
  // labels. Either name may be empty: then the cell is not rendered under it.
  Counter& counter(std::string_view name, std::string_view help, Labels labels = {},
                   std::string_view alias = {}, Labels alias_labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, Labels labels = {},
               std::string_view alias = {}, Labels alias_labels = {});
  Histogram& histogram(std::string_view name, std::string_view help, std::span<const double> bounds,
                       Labels labels = {}, std::string_view alias = {}, Labels alias_labels = {});

  // Prometheus text format 0.0.4.
  std::string render() const;

 private:
  enum class Kind : std::uint8_t { kCounter, kGauge, kHistogram };
  struct Cell {
    std::string labels;  // `{a="b"}`, escaped; may be empty
    const void* value;
  };
  struct Family {
    std::string name;
    std::string help;
    Kind kind;
    std::vector<Cell> cells;
  };

  void place(Kind kind, std::string_view name, std::string_view help, const Labels& common,
             const Labels& labels, const void* value);
  void place_both(Kind kind, std::string_view name, std::string_view help, const Labels& labels,
                  std::string_view alias, const Labels& alias_labels, const void* value);

  Labels common_;
  Labels alias_common_;
  std::deque<Counter> counters_;
  std::deque<Gauge> gauges_;
  std::deque<Histogram> histograms_;
  std::vector<Family> families_;  // guarded by families_mutex_
  mutable std::mutex families_mutex_;
};

}  // namespace paternoster::measure
