// Fair shares of service between tenants: the Virtual Token Counter ("Fairness in Serving Large
// Language Models", OSDI'24, arXiv 2401.00588, algorithm 2 and section 4.3 for weights).
//
// Each tenant has a counter of the service it got, divided by its weight. The first of the tenant
// with the least counter is next. A tenant that comes with nothing waiting is lifted to the least
// counter of those who wait (or to that of the one who left last), so idle time saves up nothing.
// Work-conserving: the order never keeps anybody from a free seat.
//
// Charges: a prompt's computed tokens and its cached ones when the sequence first boards, each
// output token when it is drawn. What is computed again after a preemption costs nothing.
//
// The bound (theorem 4.4, with weights w): over any interval in which two tenants both have work
// waiting, their services divided by weight differ by at most 2 max(prompt_charge x longest prompt,
// output_charge x tokens in the pool) / the lesser weight.
//
// Invariants: a lane is in the heap exactly while somebody of it waits; tenants with nothing live
// and no weight of their own are forgotten when their counter would be lifted anyway, or when there
// are more than kMostIdle of them. Internal to scheduler/.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "scheduler/flat_map.h"
#include "scheduler/order/waiting_queue.h"
#include "scheduler/sequence.h"

namespace paternoster::scheduler::order {

class Fair {
 public:
  using Lane = std::uint32_t;
  static constexpr std::int32_t kMostWeight = 1000;
  static constexpr std::int32_t kDefaultWeight = 10;
  static constexpr std::size_t kMostIdle = 4096;

  void set_weight(TenantId tenant, std::int32_t weight);

  // One live sequence more or less of the tenant.
  Lane enter(TenantId tenant);
  void leave(Lane lane);

  // `arrives`: for the first time, not back from a seat.
  void push(Slot slot, Lane lane, std::uint64_t turn, bool arrives);
  void remove(Slot slot);

  std::size_t size() const { return waiting_; }
  bool contains(Slot slot) const { return slot < links_.size() && links_[slot].waits; }
  Slot top() const { return lanes_[heads_.top()].first; }
  Rank top_rank() const { return rank_of(top()); }
  Rank rank_of(Slot slot) const {
    return {lanes_[links_[slot].lane].counter, links_[slot].turn};
  }
  // The earliest of a lane that waits; kNoSlot if nobody does.
  Slot first_of(Lane lane) const { return lanes_[lane].first; }

  void charge(Lane lane, std::int64_t service);
  std::int64_t counter(Lane lane) const { return lanes_[lane].counter; }
  std::size_t tenants() const { return by_id_.size(); }

 private:
  // A power of two, so that services keep their proportion under every weight within 0.1 %.
  static constexpr std::int64_t kUnit = 1 << 20;

  struct Tenant {
    TenantId id;
    std::int32_t weight = kDefaultWeight;
    bool kept = false;  // has a weight of its own
    std::int64_t counter = 0;
    std::int32_t live = 0;
    Slot first = kNoSlot;
    Slot last = kNoSlot;
  };
  struct Link {
    Slot previous = kNoSlot;
    Slot next = kNoSlot;
    Lane lane = 0;
    std::uint64_t turn = 0;
    bool waits = false;
  };

  Lane lane_of(TenantId tenant);
  std::int64_t floor() const;
  void forget_idle();
  void lift(Tenant& tenant);
  void enlist(Lane lane);

  std::vector<Tenant> lanes_;
  std::vector<Lane> free_lanes_;
  FlatMap by_id_;
  std::vector<Link> links_;  // by slot: each lane a list by turn
  WaitingQueue heads_;       // lanes with somebody waiting, by counter
  WaitingQueue idle_;        // lanes with nobody live and no weight of their own, by counter
  std::size_t waiting_ = 0;
  Lane last_left_ = kNoSlot;
  std::int64_t last_left_counter_ = 0;
};

}  // namespace paternoster::scheduler::order
