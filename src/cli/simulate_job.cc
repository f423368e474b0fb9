#include "cli/simulate_job.h"

#include "base/duration.h"

namespace paternoster::cli {
namespace {

Result<void> set_duration(std::int64_t& to, const std::optional<std::string>& text) {
  if (!text) return {};
  const auto duration = parse_duration(*text);
  if (!duration) return std::unexpected(duration.error());
  to = *duration;
  return {};
}

}  // namespace

Result<Job> prepare_job(const SimulateOptions& options) {
  Job job{options, {}, {}, {}, {}};
  auto profile = cost::obtain_profile(options.on);
  if (!profile) return std::unexpected(profile.error());
  job.profile = std::move(*profile);
  job.profile.model = job.profile.model.scaled(options.pace_percent);
  cost::StepModel& model = job.profile.model;
  model.separate_passes = options.separate_passes;
  if (auto set = set_duration(model.step_overhead_ns, options.step_overhead); !set) return std::unexpected(set.error());
  if (auto set = set_duration(model.ingest_ns, options.ingest); !set) return std::unexpected(set.error());
  if (auto set = set_duration(model.egress_ns, options.egress); !set) return std::unexpected(set.error());
  if (!options.slo.empty()) {
    auto objectives = measure::parse_objectives(options.slo);
    if (!objectives) return std::unexpected(objectives.error());
    job.objectives = std::move(*objectives);
  }
  for (const std::string& text : options.faults) {
    const auto fault = simulator::parse_fault(text);
    if (!fault) return std::unexpected(fault.error());
    job.faults.push_back(*fault);
  }
  auto description = describe_workload(options.workload);
  if (!description) return std::unexpected(description.error());
  job.description = std::move(*description);
  return job;
}

bool shares_content(const workload::Description& description) {
  return description.prefix_tokens > 0 || (description.trace && description.trace->block_tokens > 0);
}

}  // namespace paternoster::cli
