// plan(): gathers the pool, cuts it into batches, places them. Internal to fleet/; lives for one call.
//
// With Between::kKeep two kinds of requests wait: those whose KV is kept on an engine, and the rest.
//   1. Of the kept, oldest first, each engine promises memory for the next slice to as many as it
//      can; of the others it keeps what still has room, and drops the rest: they join the rest.
//   2. The promised of each engine are cut apart and go there, without a prefill.
//   3. What memory is left is for the rest. The oldest of them is placed first, and if it does not
//      fit nobody of the rest goes: so that small ones cannot starve it.
#pragma once

#include <cstdint>

#include "fleet/state.h"

namespace paternoster::fleet {

class Dispatcher {
 public:
  Dispatcher(State& state, std::int64_t now_ns) : state_(state), now_ns_(now_ns) {}

  // Fills state.plan, which is empty, and moves who is sent from the pool into batches.
  void run();

 private:
  bool takes_work(const Instance& engine) const;
  std::int64_t free_tokens(const Instance& engine) const;
  void gather();
  void gather_kept();
  void promise(InstanceId home);
  void cut(bool kept, InstanceId home);
  void order();
  void place_all();
  WaitReason place(const Candidate& candidate);
  WaitReason list_engines(const Candidate& candidate);
  void count_known(const Candidate& candidate);
  void send(const Candidate& candidate, InstanceId engine);
  void send_member(const Candidate& candidate, const Item& item, Slot batch);
  void set_timer();
  Item item_of(Slot slot) const;

  State& state_;
  std::int64_t now_ns_;
  WaitReason reason_ = WaitReason::kNone;
};

}  // namespace paternoster::fleet
