// A run's sightings become its figures, the intervals around them, and what a reader must know before
// believing them. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/bootstrap.h"
#include "bench/load.h"
#include "bench/metrics_watch.h"
#include "measure/objective.h"
#include "measure/summary.h"

namespace paternoster::bench {

// Something about the run that changes what its figures mean.
struct Note {
  std::string code;  // "late", "bunched", ...; one word for programs
  std::string text;  // for people
  bool warns = true;  // false: good to know
};

// What this program noticed about itself, the connection and the server's word.
struct Quality {
  double lag_p99_ns = 0;         // of this program's own loop
  double bunched_share = 0;      // of chunks, behind their first
  std::uint64_t spread = 0;      // requests whose tokens a chunk are assumed
  std::uint64_t untold = 0;      // completed requests without usage
  std::uint64_t unstreamed = 0;  // answered in one piece
  std::uint64_t short_answers = 0;  // completed with fewer tokens than were asked for exactly
  std::uint64_t checked = 0;     // answers tokenized again
  std::uint64_t miscounted = 0;  // of these, where the server's count is another
  measure::Distribution server_ttft;   // ns, where the server tells its own
  measure::Distribution server_tpot;
  measure::Distribution outside;       // client's first token - sent - server's: what is not the server
};

struct BenchRun {
  std::string label;
  std::vector<std::pair<std::string, std::string>> settings;  // for people, in order
  measure::Summary summary;
  Quality quality;
  std::map<std::string, Interval> intervals;  // by the summary's key: "mean_ttft_ms"
  std::vector<Note> notes;
  LoadResult load;
  ServerWatch server;  // what its /metrics said meanwhile
  double offered_rate = 0;  // requests a second that were meant to come; 0: closed loop
  // Mean E2E of the last third of requests over that of the first: well above 1, the queue grows.
  double drift = 1;
  double peak_output_rate = 0;  // tokens in the best second

  bool keeps_up() const { return drift <= 1.5 && summary.all.refused + summary.all.failed == 0; }
};

// Tokens in a text, as a tokenizer of the model's counts them.
using CountTokens = std::function<std::optional<std::int32_t>(const std::string&)>;

struct AnalysisOptions {
  measure::Objectives objectives;
  double confidence = 0.95;
  std::uint64_t seed = 0;
  bool exact_length = true;
  std::function<std::int32_t(const measure::RequestRecord&)> asked_tokens;  // of the answer
  CountTokens count_tokens;  // may be empty
};

BenchRun analyse(LoadResult load, const AnalysisOptions& options);

// One latency of every completed request, in the order of scheduling, in ms.
std::vector<double> values_of(const std::vector<Sighting>& sightings, measure::Metric metric);

}  // namespace paternoster::bench
