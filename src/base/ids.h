// Strong ids: a SequenceId is not a BlockId, and neither is a number to count with.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace paternoster {

// An id of kind Tag. Ordered and hashable; no arithmetic.
template <typename Tag, typename Value>
struct Id {
  Value value{};

  friend constexpr auto operator<=>(Id, Id) = default;
};

using RequestId = Id<struct RequestTag, std::uint64_t>;    // one call of generate: 1..n sequences
using SequenceId = Id<struct SequenceTag, std::uint64_t>;  // one choice of a request
using BlockId = Id<struct BlockTag, std::uint32_t>;        // one block of the paged KV cache
using TenantId = Id<struct TenantTag, std::uint32_t>;      // whom work is charged to; 0 is nobody in particular

using TokenId = std::int32_t;  // an index into the model's vocabulary

}  // namespace paternoster

template <typename Tag, typename Value>
struct std::hash<paternoster::Id<Tag, Value>> {
  std::size_t operator()(paternoster::Id<Tag, Value> id) const noexcept {
    // Fibonacci hashing: ids are often consecutive, and unordered containers like spread bits.
    return static_cast<std::size_t>(static_cast<std::uint64_t>(id.value) * 0x9E3779B97F4A7C15u);
  }
};
