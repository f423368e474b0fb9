// Point of choice: when sequences get on. One switch over the policies of this folder.
#pragma once

#include "scheduler/boarding/continuous.h"
#include "scheduler/boarding/static.h"
#include "scheduler/choices.h"

namespace paternoster::scheduler::boarding {

// Whether the first of the queue may board in this step, seats and blocks apart.
inline bool is_open(Boarding boarding, const View& view) {
  return boarding == Boarding::kStatic ? Static::open(view) : Continuous::open(view);
}

// Seats that the next step can give: what max_queue is counted beyond.
inline std::int32_t open_seats(Boarding boarding, std::int32_t running, std::int32_t max_seqs) {
  return boarding == Boarding::kStatic ? Static::open_seats(running, max_seqs)
                                       : Continuous::open_seats(running, max_seqs);
}

}  // namespace paternoster::scheduler::boarding
