// Our own 64-bit digest, word by word: multiply and fold. Equal on every machine; not for security
// (what it finds in the prefix index is compared token by token).
#pragma once

#include <cstdint>

namespace paternoster::scheduler {

inline constexpr std::uint64_t kMixStart = 0x243F6A8885A308D3u;  // first digits of pi

constexpr std::uint64_t mix(std::uint64_t digest, std::uint64_t word) noexcept {
  std::uint64_t mixed = (digest ^ word) * 0x9E3779B97F4A7C15u;
  mixed ^= mixed >> 32;
  return mixed * 0xD6E8FEB86659FD93u + digest;
}

}  // namespace paternoster::scheduler
