// Those who wait, first by rank: a binary heap that knows where each slot is, so that joining,
// boarding and leaving from the middle (cancel) are O(log n) and nobody ever scans the queue.
//
// Invariant: a slot is in the queue at most once. Internal to scheduler/.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/order/rank.h"
#include "scheduler/sequence.h"

namespace paternoster::scheduler::order {

class WaitingQueue {
 public:
  struct Item {
    Rank rank;
    Slot slot;
  };

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  Slot top() const { return heap_.front().slot; }
  const Rank& top_rank() const { return heap_.front().rank; }
  bool contains(Slot slot) const { return slot < place_.size() && place_[slot] != kNowhere; }

  void push(Slot slot, const Rank& rank);
  void remove(Slot slot);

 private:
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;
  void put(std::size_t at, const Item& item);
  void rise(std::size_t at, const Item& item);
  void sink(std::size_t at, const Item& item);

  std::vector<Item> heap_;
  std::vector<std::uint32_t> place_;  // by slot
};

}  // namespace paternoster::scheduler::order
