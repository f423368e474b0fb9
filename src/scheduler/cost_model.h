// What a step costs, in integers, so that decisions which weigh time are equal on every machine:
//
//   step = step_ns + token_ps x tokens + context_ps x (contexts of decodes)
//        + chunk_context_ps x (chunk x (context before it + chunk / 2), over prompt chunks)
//
// The form fits measured engines within a few percent. Whoever measures steps fits the coefficients
// and hands them to Scheduler::calibrate; the values here are those of a model of a billion weights
// on a few processor cores. Plain values; sums saturate.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/result.h"
#include "scheduler/saturating.h"

namespace paternoster::scheduler {

struct CostModel {
  std::int64_t step_ns = 20'000'000;        // every step, however small
  std::int64_t token_ps = 3'000'000'000;    // each token computed
  std::int64_t context_ps = 500'000;        // each token of context that a decode reads
  std::int64_t chunk_context_ps = 300'000;  // each pair of a prompt token and one it looks back at
  std::int64_t swap_block_ns = 100'000;     // one KV block, one way between the pool and the host

  friend bool operator==(const CostModel&, const CostModel&) = default;
};

inline constexpr std::int64_t kPicosecondsANanosecond = 1000;

// Of one entry of a plan, apart from step_ns: `tokens` after `context` tokens already computed.
constexpr std::int64_t entry_ps(const CostModel& cost, std::int64_t tokens, std::int64_t context) {
  const std::int64_t reads =
      tokens == 1 ? saturating_multiply(cost.context_ps, context + 1)
                  : saturating_multiply(cost.chunk_context_ps,
                                        saturating_multiply(tokens, context + tokens / 2));
  return saturating_add(saturating_multiply(cost.token_ps, tokens), reads);
}

// The least time in which `prompt` tokens after `context` ones are computed and `output` tokens
// drawn, alone and in one chunk.
constexpr std::int64_t alone_ns(const CostModel& cost, std::int64_t prompt, std::int64_t context,
                                std::int64_t output) {
  std::int64_t total = saturating_add(
      cost.step_ns, entry_ps(cost, prompt, context) / kPicosecondsANanosecond);
  if (output > 1) {
    const std::int64_t decode = saturating_add(
        cost.step_ns, entry_ps(cost, 1, context + prompt) / kPicosecondsANanosecond);
    total = saturating_add(total, saturating_multiply(output - 1, decode));
  }
  return total;
}

// Names the coefficient at fault and its range.
Result<void> validate(const CostModel& cost);

}  // namespace paternoster::scheduler
