// Point of choice: who is next. One switch over the policies of this folder.
#pragma once

#include "scheduler/choices.h"
#include "scheduler/order/fcfs.h"

namespace paternoster::scheduler::order {

inline Rank rank_of(Order order, const Sequence& sequence) {
  switch (order) {
    case Order::kFcfs:
      break;
  }
  return Fcfs::rank(sequence);
}

}  // namespace paternoster::scheduler::order
