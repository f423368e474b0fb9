// Point of choice: which engine a batch goes to. One switch over the policies of this folder.
#pragma once

#include <cstddef>

#include "fleet/choices.h"
#include "fleet/placement/least_loaded.h"
#include "fleet/placement/max_min.h"
#include "fleet/placement/prefix_aware.h"
#include "fleet/placement/round_robin.h"

namespace paternoster::fleet::placement {

// An index into view.engines.
inline std::size_t choose(Placement placement, const View& view) {
  switch (placement) {
    case Placement::kRoundRobin:
      return RoundRobin::choose(view);
    case Placement::kLeastLoaded:
      return LeastLoaded::choose(view);
    case Placement::kPrefixAware:
      return PrefixAware::choose(view);
    case Placement::kMaxMin:
      break;
  }
  return MaxMin::choose(view);
}

// Whether batches that are placed together are placed by descending estimate, not by arrival.
inline bool largest_first(Placement placement) {
  return placement == Placement::kMaxMin && MaxMin::kLargestFirst;
}

}  // namespace paternoster::fleet::placement
