// What a boarding policy may look at.
#pragma once

#include <cstdint>

namespace paternoster::scheduler::boarding {

struct View {
  bool batch_forming = false;   // nobody ran when this step began
  bool sibling_aboard = false;  // a choice of the same request runs
  bool was_aboard = false;      // it had a seat before and was preempted
};

}  // namespace paternoster::scheduler::boarding
