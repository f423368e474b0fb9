// A prompt is computed in one step or not at all (Orca, OSDI'22, section 3: the initiation phase is
// one iteration). One that does not fit beside the running sequences gets the next step to itself,
// over budget if need be; between two such steps the running ones have theirs.
#pragma once

#include <cstdint>

namespace paternoster::scheduler::prefill {

struct Whole {
  static std::int32_t tokens(std::int32_t rest, std::int32_t budget, bool step_is_empty) {
    return rest <= budget || step_is_empty ? rest : 0;
  }
};

}  // namespace paternoster::scheduler::prefill
