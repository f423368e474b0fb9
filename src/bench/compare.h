// Two runs from their files: what differs by more than chance. Reads what run_json writes and what
// `vllm bench serve --save-result --save-detailed` does.
//
// A figure differs if the bootstrap interval of its difference (bootstrap.h) does not hold zero. Many
// figures are looked at together, so each interval is made so wide that all of them hold the truth
// together in 95 of 100 comparisons (Bonferroni). Whatever changes from run to run (another hour, a
// warmer cache) is not in a single pair of runs: repeat them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/bootstrap.h"

namespace paternoster::bench {

struct RecordedRun {
  std::string name;  // its label, or the file's name
  std::map<std::string, std::vector<double>> values_ms;  // "ttft", "tpot", "e2el": completed requests
  std::map<std::string, double> figures;                  // "output_throughput", ...
  std::map<std::string, Interval> intervals;              // 95 %, where the file has them
  std::map<std::string, std::string> conditions;          // what must be equal to compare: rate, lengths, ...
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
};

Result<RecordedRun> read_run(const std::string& path);
Result<RecordedRun> parse_run(std::string_view json, const std::string& name);

enum class Verdict : unsigned char { kBetter, kWorse, kWithinNoise, kUnknown };
const char* to_string(Verdict verdict);

struct Difference {
  std::string figure;  // "median_ttft_ms"
  double before = 0;
  double after = 0;
  std::optional<Interval> interval;  // of after - before
  Verdict verdict = Verdict::kUnknown;
};

struct Comparison {
  std::vector<Difference> differences;
  std::vector<std::string> unlike;  // conditions that are not equal, one line each
};

Comparison compare(const RecordedRun& before, const RecordedRun& after, std::uint64_t seed = 0);

}  // namespace paternoster::bench
