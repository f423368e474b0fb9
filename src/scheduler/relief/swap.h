// A victim's KV is copied to host memory and back when it boards again, so nothing is computed twice
// (PagedAttention, SOSP'23, section 4.5, "swapping": all or nothing for a sequence). The host area
// holds a bounded number of blocks; a victim that finds no room there is recomputed instead. Nobody
// is ever turned away or ended for want of room.
//
// `auto` takes the cheaper way by the cost model: copying out and in, or computing again (the same
// section and figure 19 of the paper weigh the two).
#pragma once

#include <cstdint>

#include "scheduler/choices.h"
#include "scheduler/cost_model.h"
#include "scheduler/saturating.h"

namespace paternoster::scheduler::relief {

struct Swap {
  static bool is_cheaper(const CostModel& cost, std::int32_t tokens, std::int32_t blocks) {
    const std::int64_t copies_ps = saturating_multiply(
        saturating_multiply(cost.swap_block_ns, kPicosecondsANanosecond), 2 * std::int64_t{blocks});
    return copies_ps < entry_ps(cost, tokens, 0);
  }
};

}  // namespace paternoster::scheduler::relief
