// A run folded into figures: every number that a benchmark or a simulation reports is computed here and
// nowhere else, so that real and simulated runs can be laid over each other.
//
//   Summarizer summarizer(objectives);
//   summarizer.add(record);            each request once, when it is over
//   summarizer.add_gap(ns, times, c);  only for makers that do not keep RequestRecord::arrivals
//   Summary summary = summarizer.finish(duration_ns);
//
// TTFT first token - scheduled; TPOT (last - first) / (tokens - 1), for more than one token; ITL gaps
// between arrivals, pooled over all requests; E2E last token - scheduled. Failures never enter a
// latency. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "measure/distribution.h"
#include "measure/objective.h"
#include "measure/request_record.h"

namespace paternoster::measure {

// The figures of all requests, of one class or of one tenant.
struct Figures {
  std::uint64_t completed = 0;
  std::uint64_t refused = 0;
  std::uint64_t failed = 0;  // failed, timed out, cancelled
  std::uint64_t good = 0;    // completed within every objective
  std::int64_t input_tokens = 0;   // of completed requests
  std::int64_t output_tokens = 0;  // of completed requests
  std::int64_t cached_tokens = 0;
  std::int64_t preemptions = 0;
  Distribution ttft, tpot, itl, e2e;      // ns
  Distribution queue;                     // scheduled to first seat, ns; where known
  Distribution normalized;                // E2E / output tokens, ns: Orca's normalised latency
  Distribution lateness;                  // sent - scheduled, ns
  Distribution input_lengths, output_lengths;

  std::uint64_t total() const { return completed + refused + failed; }
  const Distribution& of(Metric metric) const;
  // Good requests of all that were offered, 0..1. Refused and failed ones are not good.
  double attainment() const;
};

using FiguresByName = std::map<std::string, Figures, std::less<>>;

struct Summary {
  double duration_s = 0;  // from the start of the run to the last end, ramp and drain included
  Objectives objectives;
  Figures all;
  FiguresByName classes;  // empty if there is only one
  FiguresByName tenants;  // empty if there is only one
  // Jain's index over tenants' service, input + 2 x output tokens (VTC's weights); 1: all equal.
  double jain = 1;

  double request_rate() const;
  double output_rate() const;  // output tokens a second
  double total_rate() const;   // input and output
  double goodput() const;      // good requests a second
  // Whether the run's percentiles are within every objective and nobody failed or was refused.
  bool meets_objectives() const;
};

double jain_index(const FiguresByName& tenants);

class Summarizer {
 public:
  explicit Summarizer(Objectives objectives = {});

  void add(const RequestRecord& record);
  // A gap between two tokens that `times` streams saw; of one class if it is named.
  void add_gap(double gap_ns, std::uint64_t times, std::string_view class_name = {},
               std::string_view tenant = {});
  Summary finish(double duration_ns);

 private:
  void add_to(Figures& figures, const RequestRecord& record, bool good) const;

  Summary summary_;
};

}  // namespace paternoster::measure
