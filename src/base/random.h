// Counter-based random numbers: a pure function of (seed, stream, counter), with no state to carry.
//
// A sequence that is preempted, moved or continued elsewhere draws the same numbers, because the
// counter is its token position and not how often anybody asked. Philox4x32-10 (Salmon et al.,
// "Parallel Random Numbers: As Easy as 1, 2, 3", SC'11).
#pragma once

#include <array>
#include <cstdint>

namespace paternoster {

// Four independent uniform 32-bit words for the given key and counter.
constexpr std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream,
                                              std::uint64_t counter) noexcept {
  std::uint32_t x0 = static_cast<std::uint32_t>(counter);
  std::uint32_t x1 = static_cast<std::uint32_t>(counter >> 32);
  std::uint32_t x2 = static_cast<std::uint32_t>(stream);
  std::uint32_t x3 = static_cast<std::uint32_t>(stream >> 32);
  std::uint32_t k0 = static_cast<std::uint32_t>(seed);
  std::uint32_t k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * x0;
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * x2;
    const std::uint32_t y0 = static_cast<std::uint32_t>(p1 >> 32) ^ x1 ^ k0;
    const std::uint32_t y2 = static_cast<std::uint32_t>(p0 >> 32) ^ x3 ^ k1;
    x1 = static_cast<std::uint32_t>(p1);
    x3 = static_cast<std::uint32_t>(p0);
    x0 = y0;
    x2 = y2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {x0, x1, x2, x3};
}

// A uniform 64-bit word for the given key and counter.
constexpr std::uint64_t random_u64(std::uint64_t seed, std::uint64_t stream,
                                   std::uint64_t counter) noexcept {
  const auto words = philox(seed, stream, counter);
  return (std::uint64_t{words[1]} << 32) | words[0];
}

}  // namespace paternoster
