// Runs at rising load, and what they say together: where the knee is, and the most that still meets the
// objectives. The runs themselves are the caller's.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/analysis.h"

namespace paternoster::bench {

struct SweepPoint {
  double load = 0;  // requests a second offered, or streams of a closed loop
  BenchRun run;
};

struct SweepVerdict {
  // Open loop: the highest load up to which every run kept up (BenchRun::keeps_up). Closed loop: the
  // fewest streams that reach 90 % of the best output rate.
  std::optional<double> knee;
  std::optional<double> best;  // the highest load up to which every run met the objectives
  bool open_ended = false;     // the highest load of all still did: the limit lies beyond
};

// Points in ascending load.
SweepVerdict judge(std::span<const SweepPoint> points, bool closed);

// The highest rate that `meets`, to within `precision` (relative): doubles from `start` until it fails or
// halves until it holds, then bisects. None if even start / 64 fails; at most start x 4096.
std::optional<double> find_limit(double start, double precision, const std::function<bool(double)>& meets);

}  // namespace paternoster::bench
