// Which settings serve a workload best: each candidate is simulated at rising rates until it misses the
// objectives; the highest rate at which it meets them is its goodput in DistServe's sense (OSDI'24), read
// here with the objectives' own percentiles.
//
// The search is greedy, not exhaustive: presets at the given limits first, then, from the best of them,
// the step's tokens, the seats and the slice's length in turn; then the fewest engines that meet the
// objectives at the workload's own rate. Everything that was tried is in the result.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/objective.h"
#include "simulator/trial.h"

namespace paternoster::simulator {

struct Tried {
  Candidate candidate;
  double goodput = 0;     // requests a second; 0: missed even at the lowest rate tried
  double speed = 0;       // of the workload's own rate, at which that is
  // At the workload's own rate:
  bool meets_objectives = false;
  double attainment = 0;
  double ttft_p95_ns = 0;
  double itl_p95_ns = 0;
  double mean_e2e_ns = 0;
  std::int32_t most_live = 0;  // requests under way at once
};

struct FrontierPoint {
  double speed = 0;
  double rate = 0;        // requests a second
  double best = 0;        // attainment of the best, 0..1
  double runner_up = 0;
};

struct Advice {
  std::vector<Tried> tried;  // best first
  // The best with another preset on as many engines (the same with other numbers is no alternative); else
  // the second.
  std::size_t runner_up = 0;
  std::vector<FrontierPoint> frontier;
  double rate = 0;           // the workload's own
  std::uint64_t simulations = 0;

  // The best one's settings on other numbers of engines, fewest first, itself included.
  std::vector<const Tried*> by_instances() const;
};

struct AdviceRequest {
  Options options;  // all but the configuration
  workload::Description workload;
  std::vector<Candidate> presets;          // to start from
  std::vector<std::int32_t> step_tokens;   // to try
  std::vector<std::int32_t> seats;
  std::vector<std::int32_t> slice_tokens;  // of presets that board slices
  // Numbers of engines, ascending: settings are searched on the first; between two of which the smaller
  // misses the objectives and the larger meets them, the fewest that do are searched.
  std::vector<std::int32_t> instances = {1};
  std::function<void(std::uint64_t simulations)> on_progress;
};

Result<Advice> advise(const AdviceRequest& request);

}  // namespace paternoster::simulator
