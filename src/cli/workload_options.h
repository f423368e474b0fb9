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
  std::optional<double> speed;
  std::optional<std::size_t> requests;
  std::string arrivals;
  std::optional<double> rate;
  std::optional<std::string> input;
  std::optional<std::string> output;
  std::string usual_input = "lognormal:200:0.8:8000";  // without a trace and --input
  std::string usual_output = "lognormal:120:0.8:2000";
  std::vector<std::string> classes;
  std::vector<std::string> tenants;
  std::int32_t prefix_tokens = 0;
  std::optional<std::int32_t> prefix_count;
  std::uint64_t seed = 0;
  bool guesses = false;
  std::optional<double> guess_sigma;
};

void add_workload_options(CLI::App& app, WorkloadOptions& options);

// Reads the trace, if there is one. The error names a flag that nothing would read.
Result<workload::Description> describe_workload(const WorkloadOptions& options);

// One line: "19366 requests of the azure trace x 2".
std::string workload_text(const workload::Description& description);

}  // namespace paternoster::cli
