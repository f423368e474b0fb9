// Point of choice: when the pool is emptied next.
//
// SCLS's adaptive interval waits a share lambda of the work that the least loaded engine still has,
// so that batches are as big as they can be without an engine running dry, and at least Gamma:
// T = max(lambda min_w load_w, Gamma) (arXiv 2406.13511, "adaptive schedule interval").
#pragma once

#include <algorithm>
#include <cstdint>

#include "fleet/choices.h"

namespace paternoster::fleet {

// Nanoseconds from a dispatch to the next. `least_load_ns`: of engines that take work, afterwards.
inline std::int64_t interval_ns(Dispatch dispatch, const Limits& limits, std::int64_t least_load_ns) {
  switch (dispatch) {
    case Dispatch::kAtOnce:
    case Dispatch::kWhenIdle:
      return 0;
    case Dispatch::kInterval:
      return limits.interval_ns;
    case Dispatch::kAdaptiveInterval:
      break;
  }
  const std::int64_t load_ns = std::min(least_load_ns, kMostNs);
  return std::max(load_ns * limits.interval_load_permille / 1000, limits.interval_ns);
}

}  // namespace paternoster::fleet
