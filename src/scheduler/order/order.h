// Point of choice: who is next, and who may take whose seat. One switch over the policies of this
// folder; `fair` keeps its own queue (queue.h).
#pragma once

#include "scheduler/choices.h"
#include "scheduler/order/deadline.h"
#include "scheduler/order/fcfs.h"
#include "scheduler/order/multilevel.h"
#include "scheduler/order/priority.h"
#include "scheduler/order/shortest.h"
#include "scheduler/plan.h"

namespace paternoster::scheduler::order {

inline Rank rank_of(const Config& config, const Group& group, const Sequence& sequence) {
  switch (config.choices.order) {
    case Order::kPriority:
      return Priority::rank(config.tuning, group, sequence);
    case Order::kShortest:
      return Shortest::rank(config.cost, group, sequence);
    case Order::kDeadline:
      return Deadline::rank(config.tuning, group, sequence);
    case Order::kMultilevel:
      return Multilevel::rank(sequence);
    case Order::kFcfs:
    case Order::kFair:
      break;
  }
  return Fcfs::rank(sequence);
}

// Whether some sequences may take the seats of others at all.
inline bool has_classes(const Config& config) {
  return config.choices.boarding == Boarding::kContinuous &&
         (config.choices.order == Order::kPriority || config.choices.order == Order::kMultilevel);
}

// Higher: less urgent. All the same where there are no classes.
inline std::int32_t class_of(const Config& config, const Group& group, const Sequence& sequence) {
  if (config.choices.order == Order::kPriority) return group.priority;
  return config.choices.order == Order::kMultilevel ? sequence.level : 0;
}

// Whether `waiter` may take the seat of `rider`. Only where there are classes.
inline bool outranks(const Config& config, const Group& waiter_group, const Sequence& waiter,
                     const Group& rider_group, const Sequence& rider) {
  return config.choices.order == Order::kPriority
             ? Priority::outranks(config.tuning, waiter_group, waiter, rider_group, rider)
             : Multilevel::outranks(waiter, rider);
}

// Whether a wait of promotion_ns changes the place in the queue.
inline bool promotes(Order order) {
  return order == Order::kShortest || order == Order::kMultilevel;
}

// Why those behind the first wait, if nothing keeps everyone.
inline WaitReason reason_behind(Order order) {
  switch (order) {
    case Order::kPriority:
    case Order::kMultilevel:
      return WaitReason::kClass;
    case Order::kShortest:
      return WaitReason::kShorterFirst;
    case Order::kDeadline:
      return WaitReason::kEarlierDeadline;
    case Order::kFair:
      return WaitReason::kTenantShare;
    case Order::kFcfs:
      break;
  }
  return WaitReason::kBehindEarlier;
}

}  // namespace paternoster::scheduler::order
