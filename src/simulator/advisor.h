// Which settings serve a workload best: each candidate is simulated at rising rates until it misses the
// objectives; the highest rate at which it meets them is its goodput in DistServe's sense (OSDI'24), read
// here with the objectives' own percentiles.
//
// The search is greedy, not exhaustive: presets at the given limits first, then, from the best of them,
// the step's tokens and the seats in turn. Everything that was tried is in the result.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/objective.h"
#include "simulator/simulation.h"

namespace paternoster::simulator {

struct Candidate {
  std::string preset;
  scheduler::Config config;
};

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
};

struct FrontierPoint {
  double speed = 0;
  double rate = 0;        // requests a second
  double best = 0;        // attainment of the best, 0..1
  double runner_up = 0;
};

struct Advice {
  std::vector<Tried> tried;  // best first
  // The best with another preset (the same with other numbers is no alternative); else the second.
  std::size_t runner_up = 0;
  std::vector<FrontierPoint> frontier;
  double rate = 0;           // the workload's own
  std::int32_t most_live = 0;  // requests under way at once, at that rate, under the best
  std::uint64_t simulations = 0;
};

struct AdviceRequest {
  Options options;                  // config: the limits to start from; objectives
  workload::Description workload;
  std::vector<std::string> presets;
  std::vector<std::int32_t> step_tokens;  // to try
  std::vector<std::int32_t> seats;
  std::function<void(std::uint64_t simulations)> on_progress;
};

Result<Advice> advise(const AdviceRequest& request);

}  // namespace paternoster::simulator
