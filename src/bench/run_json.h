// A run as files: one JSON object under the flat keys of `vllm bench serve --save-result
// --save-detailed` with ours beside them, and one line a request (measure/summary_json.h).
#pragma once

#include <string>

#include "base/result.h"
#include "bench/analysis.h"

namespace paternoster::bench {

// What only the caller knows.
struct RunIdentity {
  std::string version;   // of this program
  std::string backend;   // "openai-chat" or "openai"
  std::string endpoint;  // the server's address
  std::string model;
  std::string date;      // "20261130-104500"
  std::string arrivals;  // as written: "poisson", "closed:8"
  double burstiness = 1;
  std::int32_t max_concurrency = 0;  // 0: none
  std::size_t planned = 0;
  std::uint64_t seed = 0;
};

std::string run_json(const BenchRun& run, const RunIdentity& identity);
std::string records_jsonl(const BenchRun& run);

// Writes so that the file is whole or not there.
Result<void> write_file(const std::string& path, const std::string& text);

}  // namespace paternoster::bench
