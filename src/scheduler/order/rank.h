// Where a waiting sequence stands: lower first, ties by arrival. Ranks of live sequences are all
// different (the arrival is), so every order is total and plans are deterministic.
#pragma once

#include <compare>
#include <cstdint>

namespace paternoster::scheduler::order {

struct Rank {
  std::int64_t first = 0;
  std::uint64_t arrival = 0;

  friend constexpr auto operator<=>(const Rank&, const Rank&) = default;
};

}  // namespace paternoster::scheduler::order
