// In turn, whatever the load: what sequence-level and iteration-level systems do in front of several
// engines, and SCLS's baseline.
#pragma once

#include <cstddef>

#include "fleet/placement/view.h"

namespace paternoster::fleet::placement {

struct RoundRobin {
  static std::size_t choose(const View& view) {
    if (!view.any_before) return 0;
    for (std::size_t at = 0; at < view.engines.size(); ++at) {
      if (view.engines[at].id > view.last) return at;
    }
    return 0;
  }
};

}  // namespace paternoster::fleet::placement
