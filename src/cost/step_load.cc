#include "cost/step_load.h"

namespace paternoster::cost {

StepLoad load_of(const scheduler::Plan& plan) {
  StepLoad load;
  for (const scheduler::RunEntry& entry : plan.run) load.add(entry.first_position, entry.token_count);
  load.swapped_blocks = static_cast<std::int64_t>(plan.swap_out.size() + plan.swap_in.size());
  return load;
}

}  // namespace paternoster::cost
