// Blocks are taken as sequences grow; when they run short the sequence admitted last gives up its
// seat and blocks, keeps its output, and computes everything again when it boards next
// (PagedAttention, SOSP'23, section 4.5, "recomputation"; vLLM V1 preempts the same one).
//
// One addition against sequences that lose again and again: after `protect_after` preemptions a
// sequence boards only with its worst case set aside, and then is never a victim. So each is
// preempted at most `protect_after` times, the total is bounded, and no two can preempt each other
// for ever.
#pragma once

#include <cstdint>

#include "scheduler/sequence.h"

namespace paternoster::scheduler::relief {

struct Recompute {
  static bool boards_reserved(const Sequence& sequence, std::int32_t protect_after) {
    return sequence.preemptions >= protect_after;
  }
  static bool may_be_victim(const Sequence& sequence) {
    return sequence.state == SequenceState::kRunning && !sequence.holds_reservation;
  }
};

}  // namespace paternoster::scheduler::relief
