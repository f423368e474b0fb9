// What is to happen, in the order of virtual time. At equal times in the order of `What`'s enumerators,
// then of pushing, so that a run is the same each time. For the simulations of this layer.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "workload/workload.h"

namespace paternoster::simulator {

template <typename What>
class TimedQueue {
 public:
  struct Timed {
    std::int64_t at_ns;
    What what;
    std::uint64_t order;  // of pushing
    std::uint64_t which;
    std::uint64_t generation;  // of the engine it is about: a dead one's is passed over
    bool operator>(const Timed& other) const {
      if (at_ns != other.at_ns) return at_ns > other.at_ns;
      if (what != other.what) return what > other.what;
      return order > other.order;
    }
  };

  void push(std::int64_t at_ns, What what, std::uint64_t which, std::uint64_t generation = 0) {
    events_.push({at_ns, what, pushed_++, which, generation});
  }
  bool empty() const { return events_.empty(); }
  Timed pop() {
    const Timed first = events_.top();
    events_.pop();
    return first;
  }
  // Whether the arrival (none: there are no more) comes before all of these or with the first.
  bool comes_after(const workload::Arrival* arrival) const {
    return arrival != nullptr && (events_.empty() || arrival->at_ns <= events_.top().at_ns);
  }

 private:
  std::priority_queue<Timed, std::vector<Timed>, std::greater<>> events_;
  std::uint64_t pushed_ = 0;
};

}  // namespace paternoster::simulator
