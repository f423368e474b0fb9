// How a run went over time, in a fixed number of points however long it lasted: each is the mean of what
// was seen in its stretch. When all points are used, pairs are joined and stretches double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace paternoster::measure {

class Timeline {
 public:
  static constexpr std::size_t kPoints = 1024;  // at most; at least half once the run is that long

  struct Moment {
    double running = 0;     // sequences with a seat
    double waiting = 0;     // requests without one
    double kv_used = 0;     // share of the cache, 0..1
    double output_tokens = 0;  // that came in the stretch
    double input_tokens = 0;   // computed in it
    double preemptions = 0;
  };
  struct Point {
    std::int64_t begin_ns = 0;
    double seconds = 0;  // of the stretch that were seen
    Moment moment;       // running, waiting, kv_used: means over time; the rest: sums
  };

  // The state held from begin to end, and what came in it. Times ascend.
  void add(std::int64_t begin_ns, std::int64_t end_ns, const Moment& moment);
  std::vector<Point> points() const;
  double width_s() const { return static_cast<double>(width_ns_) / 1e9; }

 private:
  struct Sum {
    double ns = 0;
    Moment moment;  // running, waiting, kv_used: times ns
  };
  Sum& at(std::int64_t time_ns);

  std::int64_t width_ns_ = 1'000'000;
  std::vector<Sum> sums_;
};

}  // namespace paternoster::measure
