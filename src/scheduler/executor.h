// The one seam between deciding and doing: an executor carries out a plan and says what was drawn.
// The native engine, the simulator and the tests' fake model are executors; the scheduler knows
// none.
//
// The order of a step, for whoever drives: plan(now); if it is not empty, execute it; commit(now,
// result). submit and cancel may come between plan and commit; force_preempt may not.
#pragma once

#include <concepts>
#include <vector>

#include "base/ids.h"
#include "scheduler/plan.h"

namespace paternoster::scheduler {

struct Outcome {
  SequenceId sequence;
  TokenId token = -1;
  bool stop = false;  // the sequence ends with this token (end token, stop string, constraint)
};

// For each entry of the plan that samples, in the plan's order, the tokens drawn: one, and with guesses
// one more for each that was right, up to the first that was not: every outcome of an entry but the last
// equals the guess in its place. Also for sequences that were cancelled meanwhile: commit passes over
// them, as over what an entry drew after a `stop`.
struct StepResult {
  std::vector<Outcome> outcomes;
};

template <typename T>
concept Executor = requires(T executor, const Plan& plan, StepResult& result) {
  { executor.execute(plan, result) } -> std::same_as<void>;  // fills result.outcomes
};

}  // namespace paternoster::scheduler
