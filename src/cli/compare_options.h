// What `paternoster compare` can be told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/workload_options.h"

namespace paternoster::cli {

struct CompareOptions {
  std::string model;
  std::vector<std::string> presets;  // the baseline is always among them
  std::vector<std::int32_t> streams{1, 2, 4, 8};
  std::size_t requests = 32;  // at each load
  WorkloadOptions workload;   // classes, lengths, trace, seed
  std::string slo = "ttft=2s,itl=200ms";
  std::int32_t warm_up = 4;
  std::int32_t max_seqs = 32;
  std::int32_t step_tokens = 512;
  std::optional<std::int32_t> max_len;
  std::optional<std::int64_t> kv_tokens;
  std::int32_t threads = 0;
  std::string json;
  std::string html;
};

inline constexpr const char* kBaseline = "static";

struct ParsedCompare {
  CompareOptions options;
  std::optional<int> exit_code;
};
ParsedCompare parse_compare(int argc, const char* const* argv);

}  // namespace paternoster::cli
