// Classes: the more urgent first, and a strictly more urgent class takes the seat of a lower one.
//
// Ageing bounds every wait. A rank is the moment of submission plus `ageing_ns` for each class, so
// whoever stands one class lower counts as having come ageing_ns later. Hence the bound: a request
// of class p, submitted at t, is overtaken or preempted by a request of class q < p only if that
// one was submitted before t + (p - q) x ageing_ns. Linear ageing as in Kleinrock's delay-dependent
// priorities ("Queueing Systems", volume 2, section 3.7); classes as in vLLM's `priority` policy.
#pragma once

#include "scheduler/choices.h"
#include "scheduler/order/rank.h"
#include "scheduler/saturating.h"
#include "scheduler/sequence.h"

namespace paternoster::scheduler::order {

struct Priority {
  static Rank rank(const Tuning& tuning, const Group& group, const Sequence& sequence) {
    const std::int64_t handicap_ns = saturating_multiply(group.priority, tuning.ageing_ns);
    return {saturating_add(group.submitted_ns, handicap_ns), sequence.turn};
  }
  static bool outranks(const Tuning& tuning, const Group& waiter_group, const Sequence& waiter,
                       const Group& rider_group, const Sequence& rider) {
    return waiter_group.priority < rider_group.priority &&
           rank(tuning, waiter_group, waiter) < rank(tuning, rider_group, rider);
  }
};

}  // namespace paternoster::scheduler::order
