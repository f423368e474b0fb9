#include "scheduler/order/waiting_queue.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace paternoster::scheduler::order {
namespace {

TEST(WaitingQueue, AgreesWithASortedMapOverRandomJoinsAndDepartures) {
  WaitingQueue queue;
  std::map<Rank, Slot> sorted;
  std::map<Slot, Rank> ranks;
  for (std::uint64_t turn = 0; turn < 20000; ++turn) {
    const std::uint64_t random = random_u64(5, 0, turn);
    const auto slot = static_cast<Slot>(random % 97);
    if (const auto found = ranks.find(slot); found != ranks.end()) {
      queue.remove(slot);
      sorted.erase(found->second);
      ranks.erase(found);
    } else {
      const Rank rank{static_cast<std::int64_t>((random >> 20) % 4), turn};
      queue.push(slot, rank);
      sorted[rank] = slot;
      ranks[slot] = rank;
    }
    ASSERT_EQ(queue.size(), sorted.size());
    ASSERT_EQ(queue.contains(slot), ranks.contains(slot));
    if (!sorted.empty()) {
      ASSERT_EQ(queue.top(), sorted.begin()->second);
    }
  }
}

}  // namespace
}  // namespace paternoster::scheduler::order
