// What a boarding policy may look at.
#pragma once

#include <cstdint>

namespace paternoster::scheduler::boarding {

struct View {
  bool batch_forming = false;   // nobody ran when this step began
  bool sibling_aboard = false;  // a choice of the same request runs
  bool was_aboard = false;      // it lost its seat in this batch, not at a slice's end
  bool window_is_open = false;  // arrivals are still gathered
};

}  // namespace paternoster::scheduler::boarding
