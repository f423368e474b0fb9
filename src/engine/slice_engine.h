// An engine that answers slices of calls beside whole ones: what slice_loop.h asks of it.
#pragma once

#include <optional>

#include "api/backend.h"
#include "engine/preparer.h"
#include "scheduler/cost_model.h"

namespace paternoster::engine {

class SliceEngine : public api::Backend {
 public:
  // Runs a slice under the number that it has (unlike generate), which no live call of this engine may
  // have. It is told of, cancelled and stopped like any call: its tokens are those that follow what
  // numbers->said tells. `numbers` must not change before the slice's last event.
  virtual void run(PreparedCall slice) = 0;

  // What a step costs here, as measured lately; none: not known yet. Any thread.
  virtual std::optional<scheduler::CostModel> learnt_cost() const = 0;
};

}  // namespace paternoster::engine
