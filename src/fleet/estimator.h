// What a static batch will cost: the serving-time and memory estimators of SCLS ("Slice-Level
// Scheduling for High Throughput and Load Balanced LLM Serving", arXiv 2406.13511; docs/fleet.md).
//
//   prefill(N, L)     = p1 N L + p2 N + p3 L + p4
//   decode step(N, l) = d1 N l + d2 N + d3 l + d4
//   serve(N, L, S)    = prefill(N, L) + the sum of step(N, l) for l = L + 1 .. L + S
//                     = prefill(N, L) + S (d2 N + d4) + (d1 N + d3) (S L + S (S + 1) / 2)
//
// N: batch size; L: padded input length; S: iterations. Integers only: coefficients in picoseconds,
// sums saturate instead of wrapping, so that plans are equal on every machine. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "scheduler/cost_model.h"

namespace paternoster::fleet {

// Coefficients in picoseconds, as a fit over a profiled grid of (N, L) gives them. A fit may make
// single ones negative; a time is never less than nothing.
struct TimeModel {
  std::int64_t prefill_token_ps = 200'000'000;     // p1, for each N L
  std::int64_t prefill_sequence_ps = 0;            // p2, for each N
  std::int64_t prefill_position_ps = 0;            // p3, for each L
  std::int64_t prefill_base_ps = 10'000'000'000;   // p4
  std::int64_t decode_context_ps = 200'000;        // d1, for each N l
  std::int64_t decode_sequence_ps = 200'000'000;   // d2, for each N
  std::int64_t decode_position_ps = 0;             // d3, for each l
  std::int64_t decode_base_ps = 10'000'000'000;    // d4

  friend bool operator==(const TimeModel&, const TimeModel&) = default;
};

struct Shape {
  std::int64_t sequences = 1;   // N
  std::int64_t input = 0;       // L, padded
  std::int64_t iterations = 0;  // S
};

// What a step's cost tells of a batch; `usual_input` stands for the context that prompts look back at.
TimeModel time_model_of(const scheduler::CostModel& step, std::int64_t usual_input);

// Nanoseconds, from 0 to kMostNs (ten hours: so that the sum over any queue stays in 64 bits).
inline constexpr std::int64_t kMostNs = std::int64_t{1} << 45;
std::int64_t prefill_ns(const TimeModel& model, const Shape& shape);
std::int64_t decode_ns(const TimeModel& model, const Shape& shape);  // all S iterations
std::int64_t serve_ns(const TimeModel& model, const Shape& shape);

// KV memory of one engine, in tokens. An engine whose allocator cannot be seen through is described
// by rules: at most so many sequences up to so long.
struct MemoryModel {
  struct Rule {
    std::int32_t total_length;  // L + S up to this
    std::int32_t sequences;     // at most so many
    friend bool operator==(const Rule&, const Rule&) = default;
  };
  std::int64_t kv_tokens = INT32_MAX;  // free memory times zeta, over bytes a token
  std::vector<Rule> rules;             // by ascending length; longer than all: one sequence
  friend bool operator==(const MemoryModel&, const MemoryModel&) = default;
};

// Whether a padded batch runs to its end without running out of memory: N (L + S) tokens.
bool fits(const MemoryModel& memory, const Shape& shape);

}  // namespace paternoster::fleet
