// One candidate's settings simulated at one speed of a workload: an engine alone, or several behind the
// fleet's planner, which are the very objects that `simulate` and `simulate --instances` run.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "fleet/choices.h"
#include "simulator/simulation.h"
#include "workload/workload.h"

namespace paternoster::simulator {

struct Candidate {
  std::string preset;
  scheduler::Config config;      // of every engine
  std::int32_t instances = 1;    // each a machine of its own, with all that the profile says
  fleet::Placement placement = fleet::Placement::kLeastLoaded;  // among several

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

struct Trial {
  measure::Summary summary;
  std::int64_t last_arrival_ns = 0;
  std::int32_t most_live = 0;
  bool overloaded = false;

  bool passes() const { return summary.meets_objectives() && !overloaded; }
  double rate() const;  // requests a second that came
};

// `options`: all but the configuration. An error: the limits do not hold together, or the workload is none.
Result<Trial> run_trial(const Options& options, const workload::Description& workload, const Candidate& candidate,
                        double speed);

}  // namespace paternoster::simulator
