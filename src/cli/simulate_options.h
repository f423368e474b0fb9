// What `paternoster simulate` can be told.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/scheduler_options.h"
#include "cli/workload_options.h"

namespace paternoster::cli {

struct SimulateOptions {
  WorkloadOptions workload;
  SchedulerOptions scheduler;
  std::string on;  // a published profile, or a calibration file
  std::string slo;
  std::int32_t allowed_tokens = 0;
  std::int32_t pace_percent = 100;
  bool separate_passes = false;
  std::optional<std::string> step_overhead;
  std::optional<std::string> ingest;
  std::optional<std::string> egress;
  std::vector<std::string> faults;
  std::string fleet;  // a fleet preset; empty: one engine and no fleet
  std::int32_t instances = 1;
  std::optional<std::int32_t> max_batch;
  std::optional<std::string> interval;
  bool returns_early = true;
  bool bands = true;
  bool check_invariants = false;
  std::string json;
  std::string records;
  std::string perfetto;
  std::string html;
  std::string journal;
};

struct ParsedSimulate {
  SimulateOptions options;
  std::optional<int> exit_code;
};
ParsedSimulate parse_simulate(int argc, const char* const* argv);

}  // namespace paternoster::cli
