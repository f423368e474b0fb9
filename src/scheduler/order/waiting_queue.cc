#include "scheduler/order/waiting_queue.h"

#include "base/check.h"

namespace paternoster::scheduler::order {

void WaitingQueue::put(std::size_t at, const Item& item) {
  heap_[at] = item;
  place_[item.slot] = static_cast<std::uint32_t>(at);
}

void WaitingQueue::rise(std::size_t at, const Item& item) {
  while (at > 0 && item.rank < heap_[(at - 1) / 2].rank) {
    put(at, heap_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  put(at, item);
}

void WaitingQueue::sink(std::size_t at, const Item& item) {
  for (std::size_t child = 2 * at + 1; child < heap_.size(); child = 2 * at + 1) {
    if (child + 1 < heap_.size() && heap_[child + 1].rank < heap_[child].rank) ++child;
    if (item.rank < heap_[child].rank) break;
    put(at, heap_[child]);
    at = child;
  }
  put(at, item);
}

void WaitingQueue::push(Slot slot, const Rank& rank) {
  if (slot >= place_.size()) place_.resize(slot + 1, kNowhere);
  PATERNOSTER_CHECK(place_[slot] == kNowhere);
  heap_.push_back({rank, slot});
  rise(heap_.size() - 1, {rank, slot});
}

void WaitingQueue::remove(Slot slot) {
  PATERNOSTER_CHECK(contains(slot));
  const std::size_t at = place_[slot];
  place_[slot] = kNowhere;
  const Item last = heap_.back();
  heap_.pop_back();
  if (last.slot == slot) return;
  if (at > 0 && last.rank < heap_[(at - 1) / 2].rank) {
    rise(at, last);
  } else {
    sink(at, last);
  }
}

}  // namespace paternoster::scheduler::order
