// What is simulated, read and checked: the same for one engine and for a fleet.
#pragma once

#include <vector>

#include "base/result.h"
#include "cli/simulate_options.h"
#include "cost/profile.h"
#include "measure/objective.h"
#include "simulator/simulation.h"
#include "workload/workload.h"

namespace paternoster::cli {

struct Job {
  const SimulateOptions& options;
  cost::Profile profile;
  workload::Description description;
  measure::Objectives objectives;
  std::vector<simulator::Fault> faults;
};

Result<Job> prepare_job(const SimulateOptions& options);

// Whether a prefix cache could find anything.
bool shares_content(const workload::Description& description);

// Many engines behind a fleet preset. The exit code.
int simulate_fleet(const Job& job);

}  // namespace paternoster::cli
