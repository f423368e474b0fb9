// Who gives up its seat when somebody must: one of the lowest class, and among those the one that
// was admitted last (vLLM V1, and PagedAttention, SOSP'23, section 4.5) or the one that has least
// work to lose. It keeps its place in the order.
#pragma once

#include <cstdint>

#include "scheduler/choices.h"

namespace paternoster::scheduler::relief {

struct Candidate {
  std::int32_t seat_class = 0;     // higher: less urgent
  std::int32_t computed = 0;       // tokens whose work would be lost
  std::size_t admitted = 0;        // place in the order of admission
};

inline bool is_better_victim(Victim victim, const Candidate& left, const Candidate& right) {
  if (left.seat_class != right.seat_class) return left.seat_class > right.seat_class;
  if (victim == Victim::kLeastWork && left.computed != right.computed) {
    return left.computed < right.computed;
  }
  return left.admitted > right.admitted;
}

}  // namespace paternoster::scheduler::relief
