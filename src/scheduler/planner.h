// plan(): decides one iteration in passes and writes it down flat. Internal to scheduler/.
//
//   due            deadlines that passed, waits that earn promotion
//   urgent pass    orders with classes only: the first of the queue boards before the running pass,
//                  if need be in the seat and blocks of someone it outranks
//   running pass   decodes first, then prompts on their way; whoever needs a block that is not there
//                  takes it from a victim (relief/)
//   draft pass     last (speculation): those who decode guess some tokens ahead, if that is cheap
//   boarding pass  only if nobody lost its seat for want of blocks: the queue in its order while
//                  seats, batch, tokens and blocks allow; the first who cannot board holds up
//                  everyone behind
//
// planner.cc has the passes, planner_boarding.cc the boarding of one sequence, planner_sharing.cc what
// a latency target decides, planner_drafting.cc the guesses, planner_writing.cc the flat plan.
#pragma once

#include <cstdint>

#include "scheduler/relief/victim.h"
#include "scheduler/speculation/worth.h"
#include "scheduler/state.h"

namespace paternoster::scheduler {

class Planner {
 public:
  Planner(State& state, std::int64_t now_ns)
      : state_(state), now_ns_(now_ns), budget_(state.config.limits.step_tokens) {}

  // Writes state.plan.
  void run();

 private:
  // passes
  void clear_plan();
  void end_overdue();
  bool may_still_begin(Slot slot);
  void promote();
  void urgent_pass(bool decodes_follow);
  void running_pass();
  bool gathers_arrivals() const;
  void list_prompts();
  void prompt_pass();
  void divide_step();
  std::int64_t target_ps() const;
  bool is_over_target(const Sequence& newcomer) const;
  bool grant(Slot slot, std::int32_t tokens);
  bool relieve();
  void take_seat_of(Slot slot, PreemptCause cause);
  void boarding_pass();

  // boarding of one
  bool lost_its_seat(Slot slot) const {  // in this step: it waits for the next
    return state_.sequences[slot].preempted_in == state_.plan.step;
  }
  WaitReason try_board(Slot slot, bool may_take);
  bool batch_is_open(const Sequence& sequence, const Sequence* sibling) const;
  bool step_is_empty() const { return budget_ == state_.config.limits.step_tokens; }
  bool outranks(Slot waiter, Slot rider) const;
  bool outranks_anyone(Slot waiter) const;
  relief::Candidate candidate(std::size_t place) const;
  bool choose_victims(Slot waiter, std::int32_t seats, std::int32_t blocks);
  bool take_victims(Sequence& sequence, bool reserve);
  std::int32_t tokens_now(const Sequence& sequence);
  std::int32_t freed_by(const Sequence& victim) const;
  std::int32_t blocks_missing(const Sequence& sequence, bool reserve) const;
  static constexpr std::uint64_t kStepsBlocked = 8;
  bool is_still_blocked(const Sequence& sequence) const;
  const Sequence* sibling_with_prompt(const Sequence& sequence) const;
  void seat(Slot slot, const Sequence* sibling, std::int32_t tokens, bool reserve);
  void charge_prompt(const Sequence& sequence);
  void reserve_capacity(Sequence& sequence, const Group& group);
  Event& announce(const Sequence& sequence, bool resumed);
  std::int32_t tokens_left(const Sequence& sequence) const {
    return known_tokens(state_, sequence) - sequence.computed;
  }
  std::int32_t pledge_of(const Sequence& sequence) const;
  void count_pledges();

  // drafting
  void draft_pass();
  std::int32_t most_guesses(const Sequence& sequence) const;
  void draft(Sequence& sequence, speculation::Worth& worth);

  // writing
  void write_entries();
  void write_entry(Slot slot);
  void write_reasons();

  State& state_;
  std::int64_t now_ns_;
  std::int32_t budget_;         // tokens left in this step; negative after a prompt over budget
  std::int32_t held_back_ = 0;  // urgent pass: of those, for the decodes that come after
  std::int32_t pledged_ = 0;    // blocks that prompts on their way will need
  std::size_t departed_ = 0;    // urgent pass: victims still listed in `running`
  bool window_is_open_ = false;  // boarding window: arrivals are still gathered
  bool short_of_blocks_ = false;               // somebody lost its seat for want of blocks
  WaitReason stopped_by_ = WaitReason::kNone;  // why the boarding pass ended before the queue did
  Slot stopped_at_ = kNoSlot;                  // and at whom
};

}  // namespace paternoster::scheduler
