// Whether one guess more is worth its time, by the cost model and in integers.
//
// A step takes step_ps and is expected to draw `drawn` tokens. A guess that is right with probability p
// is drawn with the product of its and all earlier guesses' probabilities; it pays if the step then draws
// more tokens a second than without it: p / row_ps > drawn / step_ps. So guessing ends by itself where
// rows are no longer cheap, that is under load; and before that at a bound on the gaps of others.
// (The optimal draft length as a function of acceptance and relative cost: "Fast Inference from
// Transformers via Speculative Decoding", ICML'23, section 3.4, here for unequal sequences of a batch.)
// Internal to scheduler/.
#pragma once

#include <cstdint>
#include <limits>

#include "scheduler/cost_model.h"
#include "scheduler/speculation/guesses.h"

namespace paternoster::scheduler::speculation {

class Worth {
 public:
  // Whatever the step takes without guesses, and the tokens that it draws for certain.
  void add(std::int64_t entry_ps, bool draws) {
    step_ps_ = saturating_add(step_ps_, entry_ps);
    drawn_ += draws ? kAlways : 0;
  }

  // Guesses may not make the step longer than this.
  void limit_to(std::int64_t most_ps) { most_ps_ = most_ps < most_ps_ ? most_ps : most_ps_; }

  // Takes a guess up that is drawn with `chance` and adds row_ps to the step; false: it does not pay.
  bool take(std::int32_t chance, std::int64_t row_ps) {
    const std::int64_t longer_ps = saturating_add(step_ps_, row_ps);
    if (longer_ps > most_ps_) return false;
    if (saturating_multiply(chance, step_ps_) <= saturating_multiply(drawn_, row_ps)) return false;
    step_ps_ = longer_ps;
    drawn_ += chance;
    return true;
  }

  std::int64_t step_ps() const { return step_ps_; }

 private:
  std::int64_t step_ps_ = 0;
  std::int64_t drawn_ = 0;  // in 1024ths
  std::int64_t most_ps_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace paternoster::scheduler::speculation
