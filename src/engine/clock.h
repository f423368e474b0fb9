// The engine's clock: steady, in nanoseconds.
#pragma once

#include <chrono>
#include <cstdint>

namespace paternoster::engine {

inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace paternoster::engine
