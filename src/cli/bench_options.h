// What `paternoster bench` can be told.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/session.h"
#include "cli/workload_options.h"

namespace paternoster::cli {

struct BenchOptions {
  std::string url = "http://127.0.0.1:8080";
  std::string model;
  std::string route = "chat";
  std::string api_key;
  bool insecure = false;
  WorkloadOptions workload;
  std::string prompts;
  std::string duration;
  std::int32_t warm_up = 4;
  std::int32_t max_in_flight = 0;
  std::string slo;
  bool natural_length = false;
  bool plain = false;
  double temperature = 0;
  std::vector<std::string> tenant_keys;
  std::string extra_body;
  std::string timeout = "300s";
  bool check_counts = false;
  std::vector<double> sweep;       // rates, or streams of a closed loop
  bool find_limit = false;
  std::optional<double> precision;
  std::string label;
  std::string json;
  std::string records;
  std::string html;
  std::vector<std::string> overlays;  // records of other runs, to lie in the same plots
};

struct ParsedBench {
  BenchOptions options;
  std::optional<int> exit_code;
};
ParsedBench parse_bench(int argc, const char* const* argv);

// The error names the flag's value that cannot be.
Result<bench::SessionOptions> session_options(const BenchOptions& options);

}  // namespace paternoster::cli
