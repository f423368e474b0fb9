// The same work under several schedulers: which of them does it how well, each against static batching,
// and what follows from it in words. Pure; who runs them is `paternoster compare`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/analysis.h"

namespace paternoster::bench {

// One preset at one load.
struct PolicyRun {
  std::string preset;
  std::string load;          // "4 streams", "trace"
  std::int32_t overlap = 0;  // requests at once; 0: a trace
  BenchRun run;
  bool refused = false;      // it did not start, or nothing completed
  bool continuous = true;    // boards at every step; windows, slices and fixed batches do not
  bool again = false;        // the baseline once more after all others: how steady the machine was
};

// Jain's index over requests' own speeds (output tokens over E2E): 1 if all rode equally fast.
double jain_of_speeds(std::span<const Sighting> sightings);

// One preset against the baseline at the same load; ratios of means, above 1 is better for `output`,
// below 1 for the others. `sure` ones differ by more than chance (bootstrap.h).
struct Against {
  double output = 1;
  double ttft_p95 = 1;
  double e2e_p95 = 1;
  bool output_sure = false;
  bool ttft_sure = false;
  bool e2e_sure = false;
};
std::optional<Against> against(const PolicyRun& run, const PolicyRun& baseline);

struct PolicyVerdict {
  bool pays = false;                   // continuous batching, for this work
  bool steady = true;                  // the baseline's second run is like its first
  std::string best;                    // the preset to take; empty: none completed anything
  std::vector<std::string> sentences;  // in the order of telling: the conclusion, then what it rests on
};

// `baseline` is the preset with continuous batching off.
PolicyVerdict judge_policies(std::span<const PolicyRun> runs, const std::string& baseline);

}  // namespace paternoster::bench
