// Multi-level feedback with skip-join: "Fast Distributed Inference Serving for Large Language
// Models" (FastServe, arXiv 2305.05920, section 4.1). Level p has a quantum of quantum_ns x 2^p of
// steps. A sequence joins at the first level whose quantum holds the computing of its prompt; when
// its quantum is used up it sinks by one level; a higher level takes the seat of a lower one when
// seats or blocks are short. Whoever has waited promotion_ns joins anew.
//
// Unlike FastServe, a seat taken by level counts towards protection (relief/), so that each
// sequence loses its seat a bounded number of times and its work ends.
#pragma once

#include <cstdint>

#include "scheduler/choices.h"
#include "scheduler/cost_model.h"
#include "scheduler/order/rank.h"
#include "scheduler/saturating.h"
#include "scheduler/sequence.h"

namespace paternoster::scheduler::order {

struct Multilevel {
  static constexpr std::int32_t kLowest = 15;

  static std::int64_t quantum_ns(const Tuning& tuning, std::int32_t level) {
    return saturating_multiply(tuning.quantum_ns, std::int64_t{1} << level);
  }
  static std::int32_t join_level(const Tuning& tuning, const CostModel& cost, std::int64_t known) {
    const std::int64_t first_ns = alone_ns(cost, known, 0, 1);
    std::int32_t level = 0;
    while (level < kLowest && quantum_ns(tuning, level) < first_ns) ++level;
    return level;
  }
  static Rank rank(const Sequence& sequence) { return {sequence.level, sequence.turn}; }
  static bool outranks(const Sequence& waiter, const Sequence& rider) {
    return waiter.level < rider.level && !rider.holds_reservation;
  }
  // A step of this sequence took so long.
  static void served(const Tuning& tuning, Sequence& sequence, std::int64_t step_ns) {
    sequence.served_ns = saturating_add(sequence.served_ns, step_ns);
    if (sequence.served_ns <= quantum_ns(tuning, sequence.level)) return;
    sequence.served_ns = 0;
    if (sequence.level < kLowest) ++sequence.level;
  }
};

}  // namespace paternoster::scheduler::order
