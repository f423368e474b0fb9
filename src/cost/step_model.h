// How long a step takes: a constant, so much a token, so much a position that decodes attend to, so
// much a pair of chunk and context. Picoseconds in integers, so that a simulation is the same to the
// bit on every machine. Four coefficients are what calibration fits (fit.h); published profiles may tell
// prompt and decode tokens apart and have another line for steps that only decode.
//
// What is not in a step is explicit: the host's time between two steps, and what the API adds before
// a request reaches the scheduler and after a token leaves it.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/step_load.h"
#include "scheduler/cost_model.h"

namespace paternoster::cost {

struct StepTerms {
  std::int64_t fixed_ps = 0;
  std::int64_t prompt_token_ps = 0;
  std::int64_t decode_token_ps = 0;
  std::int64_t decode_context_ps = 0;
  std::int64_t chunk_context_ps = 0;

  std::int64_t time_ps(const StepLoad& load) const {
    return fixed_ps + prompt_token_ps * load.prompt_tokens + decode_token_ps * load.decode_tokens +
           decode_context_ps * load.decode_context + chunk_context_ps * load.chunk_context;
  }
  friend bool operator==(const StepTerms&, const StepTerms&) = default;
};

// Another line for steps without prompt tokens and with at least so many sequences.
struct DecodeRegime {
  std::int64_t from_sequences = 1;
  StepTerms terms;

  friend bool operator==(const DecodeRegime&, const DecodeRegime&) = default;
};

struct StepModel {
  StepTerms terms;
  std::vector<DecodeRegime> decode_regimes;  // ascending by from_sequences
  // A step that has both computes its prompts and then its decodes, each with its own constant, as the
  // engines of 2023 did (vLLM before V1, text-generation-inference); else all in one pass.
  bool separate_passes = false;
  std::int64_t step_overhead_ns = 0;    // between two steps: plan, commit, text
  std::int64_t swap_block_ns = 100'000;  // one KV block, one way between the pool and the host, beside the step
  std::int64_t ingest_ns = 0;           // request received to submit
  std::int64_t ingest_token_ps = 0;     // of these, a prompt token: tokenising
  std::int64_t egress_ns = 0;           // commit to the client's eyes

  // The step and what the host adds, at least a nanosecond.
  std::int64_t step_ns(const StepLoad& load) const;
  std::int64_t arrival_delay_ns(std::int64_t prompt_tokens) const {
    return ingest_ns + ingest_token_ps * prompt_tokens / 1000;
  }
  // All times x percent / 100.
  StepModel scaled(std::int64_t percent) const;

  friend bool operator==(const StepModel&, const StepModel&) = default;
};

// The same line as the scheduler weighs time by; what swapping a block takes is left as it is in `current`.
// A token costs at least a picosecond there, since budgets are divided by it.
scheduler::CostModel scheduler_cost(const StepTerms& terms, const scheduler::CostModel& current = {});

}  // namespace paternoster::cost
