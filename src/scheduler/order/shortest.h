// The least remaining work first: what is still to be computed plus the output that is expected
// (declared, or max_tokens), by the cost model. Shortest job first by predicted length: "Efficient
// Interactive LLM Serving with Proxy Model-based Sequence Length Prediction" (arXiv 2404.08509,
// section 3); promotion against starvation: "Efficient LLM Scheduling by Learning to Rank"
// (NeurIPS'24, arXiv 2408.15792, section 4.3).
//
// The bound: whoever has waited promotion_ns stands before everyone who has not, by arrival.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "scheduler/cost_model.h"
#include "scheduler/order/rank.h"
#include "scheduler/sequence.h"

namespace paternoster::scheduler::order {

struct Shortest {
  // More than was expected has come: then only the limit is known.
  static std::int64_t output_left(const Group& group, const Sequence& sequence) {
    const auto output = static_cast<std::int32_t>(sequence.output.size());
    const std::int32_t expected = group.expected > output ? group.expected : group.max_new;
    return std::max(expected - output, 1);
  }
  static Rank rank(const CostModel& cost, const Group& group, const Sequence& sequence) {
    if (sequence.promoted) return {std::numeric_limits<std::int64_t>::min(), sequence.turn};
    const auto known = static_cast<std::int64_t>(group.prompt.size() + sequence.output.size());
    return {alone_ns(cost, known, 0, output_left(group, sequence)), sequence.turn};
  }
};

}  // namespace paternoster::scheduler::order
