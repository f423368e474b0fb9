// Point of choice: how prompts share a step. One switch over the policies of this folder;
// latency_target divides the step among all prompts at once (planner_sharing.cc).
#pragma once

#include "scheduler/choices.h"
#include "scheduler/prefill/chunked.h"
#include "scheduler/prefill/stall_free.h"
#include "scheduler/prefill/whole.h"

namespace paternoster::scheduler::prefill {

// Whether every decoding sequence gets its token before any prompt gets one.
inline bool decodes_first(Prefill prefill) {
  return prefill == Prefill::kChunked ? Chunked::kDecodesFirst : StallFree::kDecodesFirst;
}

// Whether sequences board first and the step's tokens are divided after that.
inline bool divides_after_boarding(Prefill prefill) { return prefill == Prefill::kLatencyTarget; }

// How many of `rest` tokens to compute now; 0: not in this step.
inline std::int32_t tokens_now(Prefill prefill, std::int32_t rest, std::int32_t budget,
                               bool step_is_empty) {
  switch (prefill) {
    case Prefill::kWhole:
      return Whole::tokens(rest, budget, step_is_empty);
    case Prefill::kChunked:
    case Prefill::kStallFree:
    case Prefill::kLatencyTarget:
      break;
  }
  return Chunked::tokens(rest, budget);
}

}  // namespace paternoster::scheduler::prefill
