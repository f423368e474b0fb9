// Point of choice: how prompts share a step. One switch over the policies of this folder.
#pragma once

#include "scheduler/choices.h"
#include "scheduler/prefill/chunked.h"
#include "scheduler/prefill/whole.h"

namespace paternoster::scheduler::prefill {

// How many of `rest` tokens to compute now; 0: not in this step.
inline std::int32_t tokens_now(Prefill prefill, std::int32_t rest, std::int32_t budget,
                               bool step_is_empty) {
  return prefill == Prefill::kWhole ? Whole::tokens(rest, budget, step_is_empty)
                                    : Chunked::tokens(rest, budget);
}

}  // namespace paternoster::scheduler::prefill
