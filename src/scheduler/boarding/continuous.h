// Continuous batching: every step may take sequences up, as soon as a seat is free (Orca, OSDI'22,
// section 3.1, "iteration-level scheduling").
#pragma once

#include <cstdint>

#include "scheduler/boarding/view.h"

namespace paternoster::scheduler::boarding {

struct Continuous {
  static bool open(const View&) { return true; }
  static std::int32_t open_seats(std::int32_t running, std::int32_t max_seqs) {
    return max_seqs - running;
  }
};

}  // namespace paternoster::scheduler::boarding
