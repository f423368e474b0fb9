// Integer arithmetic that stops at the ends of its range: times and costs come from drivers and
// journals, and no value of theirs may wrap.
#pragma once

#include <cstdint>
#include <limits>

namespace paternoster::scheduler {

constexpr std::int64_t saturating_add(std::int64_t left, std::int64_t right) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(left, right, &sum)) return sum;
  return right < 0 ? std::numeric_limits<std::int64_t>::min()
                   : std::numeric_limits<std::int64_t>::max();
}

constexpr std::int64_t saturating_subtract(std::int64_t left, std::int64_t right) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(left, right, &difference)) return difference;
  return right > 0 ? std::numeric_limits<std::int64_t>::min()
                   : std::numeric_limits<std::int64_t>::max();
}

constexpr std::int64_t saturating_multiply(std::int64_t left, std::int64_t right) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(left, right, &product)) return product;
  return (left < 0) != (right < 0) ? std::numeric_limits<std::int64_t>::min()
                                   : std::numeric_limits<std::int64_t>::max();
}

}  // namespace paternoster::scheduler
