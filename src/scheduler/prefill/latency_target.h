// Say a latency, not a chunk size: decodes first, and then prompts get what the cost model leaves
// until the step would make some running stream's gap longer than its target. Sarathi-Serve
// (OSDI'24, section 4.3) profiles one token budget for a latency objective; here the budget follows
// each step's decodes, contexts and chunks. With no stream aboard prompts get the whole step.
//
// Prompts share what there is, so that a short one is not stuck behind a long one: the first is sure
// of half, the rest goes to those with the least left, and back to the first if some remains.
//
// Progress: the first prompt gets at least kLeast tokens (as far as the step's tokens go), even where
// the decodes alone are over the target.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "scheduler/cost_model.h"

namespace paternoster::scheduler::prefill {

struct LatencyTarget {
  static constexpr std::int32_t kLeast = 16;

  // The most tokens after `context` that take no longer than left_ps; at most `most`.
  static std::int32_t tokens_within(const CostModel& cost, std::int64_t left_ps,
                                    std::int64_t context, std::int32_t most) {
    std::int32_t fits = 0;
    std::int32_t too_many = std::max(most, 0) + 1;
    while (too_many - fits > 1) {
      const std::int32_t middle = fits + (too_many - fits) / 2;
      (entry_ps(cost, middle, context) <= left_ps ? fits : too_many) = middle;
    }
    return fits;
  }

  // One prompt's share of the step.
  struct Share {
    std::uint32_t slot = 0;
    std::int32_t rest = 0;
    std::int64_t context = 0;
    std::int32_t tokens = 0;  // the answer
  };

  // `shares` in order. left_ps: what the decodes leave of the target; negative if nothing.
  static void divide(const CostModel& cost, std::int64_t left_ps, std::int32_t budget,
                     std::span<Share> shares) {
    if (shares.empty() || budget <= 0) return;
    Share& first = shares.front();
    const auto give = [&](Share& share, std::int64_t within_ps, std::int32_t most) {
      const std::int64_t before_ps = price(cost, share);
      const std::int32_t wanted = std::min(share.rest, share.tokens + most);
      const std::int32_t fit = tokens_within(cost, saturating_add(before_ps, within_ps),
                                             share.context, wanted);
      if (fit <= share.tokens) return;
      budget -= fit - share.tokens;
      share.tokens = fit;
      left_ps -= price(cost, share) - before_ps;
    };
    give(first, left_ps / 2, budget - budget / 2);
    if (const std::int32_t least = std::min({kLeast, first.rest, budget}); first.tokens < least) {
      left_ps -= entry_ps(cost, least, first.context) - price(cost, first);
      budget -= least - first.tokens;
      first.tokens = least;
    }
    std::span<Share> others = shares.subspan(1);
    std::ranges::sort(others, [](const Share& left, const Share& right) {
      return left.rest != right.rest ? left.rest < right.rest : left.slot < right.slot;
    });
    for (Share& share : others) give(share, left_ps, budget);
    give(first, left_ps, budget);
  }

 private:
  static std::int64_t price(const CostModel& cost, const Share& share) {
    return share.tokens == 0 ? 0 : entry_ps(cost, share.tokens, share.context);
  }
};

}  // namespace paternoster::scheduler::prefill
