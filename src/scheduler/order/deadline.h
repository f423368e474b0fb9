// The earliest deadline first (Liu and Layland, "Scheduling Algorithms for Multiprogramming in a
// Hard-Real-Time Environment", JACM 1973, section 7). Work that cannot be done in time even alone is
// refused at arrival, or dropped from the queue at the last moment at which it could have begun:
// computing its prompt would only make others late.
//
// The bound: who has no deadline stands as if it were promotion_ns after submission, and deadlines
// lie after their submission, so nobody submitted after that stands before it.
#pragma once

#include "scheduler/choices.h"
#include "scheduler/cost_model.h"
#include "scheduler/order/rank.h"
#include "scheduler/order/shortest.h"
#include "scheduler/saturating.h"
#include "scheduler/sequence.h"

namespace paternoster::scheduler::order {

struct Deadline {
  static Rank rank(const Tuning& tuning, const Group& group, const Sequence& sequence) {
    const std::int64_t due_ns = group.deadline_ns != 0
                                    ? group.deadline_ns
                                    : saturating_add(group.submitted_ns, tuning.promotion_ns);
    return {due_ns, sequence.turn};
  }
  // When it must board at the latest: of the prompt only `cached` tokens need no computing, and of
  // an output of unknown length only the first token is sure.
  static std::int64_t latest_start_ns(const CostModel& cost, std::int64_t deadline_ns,
                                      std::int64_t prompt, std::int64_t cached,
                                      std::int64_t expected) {
    return saturating_subtract(deadline_ns,
                               alone_ns(cost, prompt - cached, cached, expected > 0 ? expected : 1));
  }
};

}  // namespace paternoster::scheduler::order
