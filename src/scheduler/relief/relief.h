// Point of choice: what happens when KV blocks are short. One switch over the policies of this
// folder.
#pragma once

#include "scheduler/choices.h"
#include "scheduler/relief/recompute.h"
#include "scheduler/relief/reserve.h"
#include "scheduler/relief/swap.h"

namespace paternoster::scheduler::relief {

// Whether the sequence may board only with all the blocks it can ever need set aside.
inline bool boards_reserved(const Config& config, const Sequence& sequence) {
  return config.choices.relief == Relief::kReserve
             ? Reserve::boards_reserved(sequence)
             : Recompute::boards_reserved(sequence, config.limits.protect_after);
}

// Whether a victim's `tokens` in `blocks` go to the host rather than being computed again, room apart.
inline bool swaps(const Config& config, std::int32_t tokens, std::int32_t blocks) {
  return config.choices.relief == Relief::kSwap ||
         (config.choices.relief == Relief::kAuto && Swap::is_cheaper(config.cost, tokens, blocks));
}

}  // namespace paternoster::scheduler::relief
