// Static batching as naive servers do it: every batch is run to one length, the greatest that
// anybody has asked for so far, whoever has finished before (the baseline of Anyscale's "How
// continuous batching enables 23x throughput", 2023: one pipeline with min_length = max_length = the
// longest). What is drawn after a sequence's end is computed, counted as invalid and told to nobody;
// the end itself is told when the batch is over, as such servers answer.
#pragma once

#include <algorithm>
#include <cstdint>

#include "scheduler/boarding/static.h"

namespace paternoster::scheduler::boarding {

struct StaticGlobal : Static {
  // Output tokens that a sequence is run to. `most` is what max_len and the pool allow it.
  static std::int32_t horizon(std::int32_t max_new, std::int32_t longest, std::int32_t most) {
    return std::max(max_new, std::min(longest, most));
  }
};

}  // namespace paternoster::scheduler::boarding
