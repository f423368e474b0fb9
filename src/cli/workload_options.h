// The flags that describe a workload, the same for simulate, advise and bench: a trace, or arrivals and
// lengths; classes, tenants, shared prefixes; the seed.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/workload.h"

namespace paternoster::cli {

struct WorkloadOptions {
  std::string trace;
  std::string trace_format;
  double speed = 1;
  std::optional<std::size_t> requests;
  std::string arrivals;
  double rate = 1;
  std::string input = "lognormal:200:0.8:8000";
  std::string output = "lognormal:120:0.8:2000";
  std::vector<std::string> classes;
  std::vector<std::string> tenants;
  std::int32_t prefix_tokens = 0;
  std::int32_t prefix_count = 1;
  std::uint64_t seed = 0;
  double guess_sigma = 0;
};

void add_workload_options(CLI::App& app, WorkloadOptions& options);

// Reads the trace, if there is one.
Result<workload::Description> describe_workload(const WorkloadOptions& options);

// One line: "19366 requests of the azure trace x 2".
std::string workload_text(const workload::Description& description);

}  // namespace paternoster::cli
