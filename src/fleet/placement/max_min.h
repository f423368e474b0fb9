// SCLS's max-min offloading: batches by descending estimate, each to the engine with the least load,
// so that the least loaded has as much as it can get (arXiv 2406.13511, "max-min offloading"). This
// is Graham's LPT list scheduling: its makespan is at most 4/3 - 1/(3m) of the best there is.
#pragma once

#include <cstddef>
#include <tuple>

#include "fleet/placement/least_loaded.h"
#include "fleet/placement/view.h"

namespace paternoster::fleet::placement {

struct MaxMin {
  static constexpr bool kLargestFirst = true;

  static bool less(const Engine& a, const Engine& b) {
    return std::tie(a.load_ns, a.requests) < std::tie(b.load_ns, b.requests);
  }

  static std::size_t choose(const View& view) { return least(view, less); }
};

}  // namespace paternoster::fleet::placement
