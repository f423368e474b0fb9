// Static batching: a batch is formed when nobody runs and takes no one up until all of it has
// finished, as FasterTransformer does (Orca, OSDI'22, section 2, "Existing serving systems"). Two
// kinds of late boarding belong to the batch itself: siblings of a rider (choices of one request),
// and its own members that were preempted. Rows of those who have finished are not computed.
#pragma once

#include "scheduler/boarding/view.h"

namespace paternoster::scheduler::boarding {

struct Static {
  static bool open(const View& view) {
    return view.batch_forming || view.sibling_aboard || view.was_aboard;
  }
  static std::int32_t open_seats(std::int32_t running, std::int32_t max_seqs) {
    return running == 0 ? max_seqs : 0;
  }
};

}  // namespace paternoster::scheduler::boarding
