// To the engine with the least estimated work, then the fewest batches, then in turn: so that idle
// engines share even what costs nothing.
#pragma once

#include <cstddef>
#include <tuple>

#include "fleet/placement/round_robin.h"
#include "fleet/placement/view.h"

namespace paternoster::fleet::placement {

struct LeastLoaded {
  static bool less(const Engine& a, const Engine& b) {
    return std::tie(a.load_ns, a.batches) < std::tie(b.load_ns, b.batches);
  }

  static std::size_t choose(const View& view) {
    const std::size_t start = RoundRobin::choose(view);
    std::size_t best = start;
    for (std::size_t step = 1; step < view.engines.size(); ++step) {
      const std::size_t at = (start + step) % view.engines.size();
      if (less(view.engines[at], view.engines[best])) best = at;
    }
    return best;
  }
};

}  // namespace paternoster::fleet::placement
