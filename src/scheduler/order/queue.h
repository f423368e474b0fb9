// Those who wait, whichever the order: a heap by rank, or under `fair` a list a tenant. Internal to
// scheduler/.
#pragma once

#include "scheduler/choices.h"
#include "scheduler/order/fair.h"
#include "scheduler/order/waiting_queue.h"

namespace paternoster::scheduler::order {

class Queue {
 public:
  explicit Queue(Order order) : by_tenant_(order == Order::kFair) {}

  std::size_t size() const { return by_tenant_ ? fair_.size() : heap_.size(); }
  bool empty() const { return size() == 0; }
  bool contains(Slot slot) const {
    return by_tenant_ ? fair_.contains(slot) : heap_.contains(slot);
  }
  Slot top() const { return by_tenant_ ? fair_.top() : heap_.top(); }

  void push(Slot slot, const Sequence& sequence) {
    if (by_tenant_) {
      fair_.push(slot, sequence.lane, sequence.turn, !sequence.ever_boarded);
    } else {
      heap_.push(slot, sequence.rank);
    }
  }
  void remove(Slot slot) { by_tenant_ ? fair_.remove(slot) : heap_.remove(slot); }

  bool by_tenant() const { return by_tenant_; }
  Fair& fair() { return fair_; }
  const Fair& fair() const { return fair_; }

 private:
  bool by_tenant_;
  WaitingQueue heap_;
  Fair fair_;
};

}  // namespace paternoster::scheduler::order
