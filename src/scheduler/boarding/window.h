// Dynamic batching by an arrival window: requests are gathered until the first of them has waited
// window_ns or window_seqs of them wait, then run as one unit that takes no one up (Triton Inference
// Server's dynamic batcher: max_queue_delay_microseconds, preferred_batch_size; Clipper, NSDI'17,
// section 4.3).
#pragma once

#include <algorithm>
#include <cstdint>

#include "scheduler/boarding/static.h"
#include "scheduler/choices.h"
#include "scheduler/saturating.h"

namespace paternoster::scheduler::boarding {

struct Window {
  static bool open(const View& view) { return Static::open(view) && !view.window_is_open; }

  static std::int32_t unit(const Config& config) {
    const std::int32_t wanted = config.tuning.window_seqs;
    return wanted == 0 ? config.limits.max_seqs : std::min(wanted, config.limits.max_seqs);
  }
  static std::int64_t closes_ns(const Config& config, std::int64_t first_ns) {
    return saturating_add(first_ns, config.tuning.window_ns);
  }
};

}  // namespace paternoster::scheduler::boarding
