// To the engine with the fewest requests on it ("least outstanding requests", as routers in front of
// engines do), then the least estimated work, then in turn: so that idle engines share even what costs
// nothing.
#pragma once

#include <cstddef>
#include <tuple>

#include "fleet/placement/round_robin.h"
#include "fleet/placement/view.h"

namespace paternoster::fleet::placement {

// The least by `less`; of equals the next in turn.
template <typename Less>
std::size_t least(const View& view, Less&& less) {
  const std::size_t start = RoundRobin::choose(view);
  std::size_t best = start;
  for (std::size_t step = 1; step < view.engines.size(); ++step) {
    const std::size_t at = (start + step) % view.engines.size();
    if (less(view.engines[at], view.engines[best])) best = at;
  }
  return best;
}

struct LeastLoaded {
  static bool less(const Engine& a, const Engine& b) {
    return std::tie(a.requests, a.load_ns) < std::tie(b.requests, b.load_ns);
  }

  static std::size_t choose(const View& view) { return least(view, less); }
};

}  // namespace paternoster::fleet::placement
