// Point of choice: what happens when KV blocks are short. One switch over the policies of this
// folder.
#pragma once

#include "scheduler/choices.h"
#include "scheduler/relief/recompute.h"
#include "scheduler/relief/reserve.h"

namespace paternoster::scheduler::relief {

// Whether the sequence may board only with all the blocks it can ever need set aside.
inline bool boards_reserved(const Config& config, const Sequence& sequence) {
  return config.choices.relief == Relief::kReserve
             ? Reserve::boards_reserved(sequence)
             : Recompute::boards_reserved(sequence, config.limits.protect_after);
}

}  // namespace paternoster::scheduler::relief
