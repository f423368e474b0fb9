// Which beginnings of prompts one engine has probably in its cache: those it was given last, at most
// so many. An engine forgets by its own rules; a wrong guess costs a prefill, never an answer.
//
// The newest entries, in a ring: an entry given again is written again and its old place is void.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/flat_map.h"

namespace paternoster::fleet {

class KnownPrefixes {
 public:
  explicit KnownPrefixes(std::size_t most) : most_(most) {}

  // How many entries of the chain, from its first on, are known.
  std::size_t match(std::span<const std::uint64_t> chain) const {
    std::size_t known = 0;
    while (known < chain.size() && places_.find(chain[known]) != nullptr) ++known;
    return known;
  }

  // The longest beginnings are forgotten first: they are worth nothing without the shorter ones.
  void remember(std::span<const std::uint64_t> chain) {
    if (most_ == 0) return;
    for (std::size_t at = chain.size(); at-- > 0;) put(chain[at]);
  }

  void forget_all() {
    ring_.clear();
    next_ = 0;
    places_ = scheduler::FlatMap();
  }

  std::size_t size() const { return places_.size(); }

 private:
  void put(std::uint64_t entry) {
    if (ring_.size() < most_) {
      ring_.push_back(entry);
      places_.put(entry, static_cast<std::uint32_t>(ring_.size() - 1));
      return;
    }
    const std::uint32_t* place = places_.find(ring_[next_]);
    if (place != nullptr && *place == next_) places_.erase(ring_[next_]);
    ring_[next_] = entry;
    places_.put(entry, static_cast<std::uint32_t>(next_));
    next_ = (next_ + 1) % most_;
  }

  std::size_t most_;
  std::vector<std::uint64_t> ring_;
  std::size_t next_ = 0;            // the oldest, once the ring is full
  scheduler::FlatMap places_;       // entry -> its newest place in the ring
};

}  // namespace paternoster::fleet
