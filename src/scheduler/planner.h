// plan(): decides one iteration in two passes and writes it down flat. Internal to scheduler/.
//
//   running pass   decodes first, then prompts on their way, in admission order; whoever needs a
//   block
//                  that is not there takes it from the sequence admitted last (relief/)
//   boarding pass  only if nobody was preempted: the queue in its order while seats, batch, tokens
//   and
//                  blocks allow; the first who cannot board holds up everyone behind
#pragma once

#include <cstdint>

#include "scheduler/state.h"

namespace paternoster::scheduler {

class Planner {
 public:
  Planner(State& state, std::int64_t now_ns)
      : state_(state), now_ns_(now_ns), budget_(state.config.limits.step_tokens) {}

  // Writes state.plan.
  void run();

 private:
  void clear_plan();
  void running_pass();
  bool grant(Slot slot, std::int32_t tokens);
  bool relieve();
  void boarding_pass();
  WaitReason try_board(Slot slot);
  bool batch_is_open(const Sequence& sequence, const Sequence* sibling) const;
  bool step_is_empty() const { return budget_ == state_.config.limits.step_tokens; }
  const Sequence* sibling_with_prompt(const Sequence& sequence) const;
  void seat(Slot slot, const Sequence* sibling, std::int32_t tokens, bool reserve);
  void reserve_capacity(Sequence& sequence, const Group& group);
  void announce(const Sequence& sequence, bool resumed);
  void write_entries();
  void write_entry(Slot slot);
  void write_reasons();

  State& state_;
  std::int64_t now_ns_;
  std::int32_t budget_;          // tokens left in this step; negative after a prompt over budget
  std::size_t victims_end_ = 0;  // running[victims_end_..] has no more victims
  WaitReason stopped_by_ = WaitReason::kNone;  // why the boarding pass ended before the queue did
};

}  // namespace paternoster::scheduler
