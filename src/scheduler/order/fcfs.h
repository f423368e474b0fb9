// First come, first served, by the moment of submission. A preempted sequence keeps its number, so
// it stands before everyone who came later (Orca, OSDI'22, section 4.1, "iteration-level FCFS").
#pragma once

#include "scheduler/order/rank.h"
#include "scheduler/sequence.h"

namespace paternoster::scheduler::order {

struct Fcfs {
  static Rank rank(const Sequence& sequence) { return {0, sequence.turn}; }
};

}  // namespace paternoster::scheduler::order
