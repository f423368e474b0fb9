// Blocks never run short, because nobody boards before the worst case of its whole life is set
// aside (Orca, OSDI'22, section 4.2, algorithm 1: reserve max_tokens slots in the initiation
// phase).
#pragma once

#include "scheduler/sequence.h"

namespace paternoster::scheduler::relief {

struct Reserve {
  static bool boards_reserved(const Sequence&) { return true; }
};

}  // namespace paternoster::scheduler::relief
