// What a rider asks of the fleet. Numbers only: tokens and texts stay with the driver.
//
// Invariant the caller owes: the id is not that of a live request. Everything else may be wrong and
// is answered by a kRefused event.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace paternoster::fleet {

struct Request {
  RequestId id;
  std::int32_t prompt_tokens = 1;  // at least one
  std::int32_t max_tokens = 16;    // new tokens at most, at least one
  std::int32_t choices = 1;        // sequences that share the prompt; more than one only unbatched
  // prefix_chain() of the prompt, for prefix-aware placement; empty: nothing is known to be shared.
  std::vector<std::uint64_t> prefix;
};

}  // namespace paternoster::fleet
