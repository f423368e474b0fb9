// When requests arrive, if no trace says it: processes of a given mean rate, as a person writes them.
//
//   poisson   gamma:BURSTINESS   constant   burst:SIZE (that many at once, at the mean rate)
//   diurnal:PERIOD:DEPTH (Poisson whose rate swings by +-DEPTH of the mean, a cosine from its low)
//   ramp:FROM:TO:DURATION (Poisson whose rate goes in a line from FROM to TO a second, and stays there)
//   at-once (all at time zero)   closed:STREAMS[:THINK] (each stream sends when its last is answered)
//
// Gamma follows vLLM's load generator: gaps of shape BURSTINESS (below 1: burstier than Poisson), and
// all times scaled so that the last of n comes at n / rate; so are Poisson's.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paternoster::workload {

struct Arrivals {
  enum class Kind : std::uint8_t { kPoisson, kGamma, kConstant, kBurst, kDiurnal, kRamp, kAtOnce, kClosed };
  Kind kind = Kind::kPoisson;
  double shape = 1;            // gamma
  std::int32_t burst = 1;      // requests at once
  std::int64_t period_ns = 0;  // diurnal; ramp: how long the rate changes
  double depth = 0;            // diurnal, 0..1
  double from = 1;             // ramp, of the mean rate while it changes: 0..2
  double mean_rate = 0;        // ramp: requests a second, as written; 0: this process has no rate of its own
  std::int32_t streams = 1;    // closed
  std::int64_t think_ns = 0;   // closed
};

Result<Arrivals> parse_arrivals(std::string_view text);

// Whether a rate says anything about them.
bool has_rate(const Arrivals& arrivals);

// How many come in so long, on average.
double expected_count(const Arrivals& arrivals, double rate, std::int64_t duration_ns);

// Ascending times from zero of `count` requests at `rate` a second. Closed arrivals have no times of
// their own: only the first `streams` come at zero (workload.h).
std::vector<std::int64_t> arrival_times(const Arrivals& arrivals, double rate, std::size_t count,
                                        std::uint64_t seed);

}  // namespace paternoster::workload
