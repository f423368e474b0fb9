// Where random scripts get their bytes: from a seed that can be given again, or from a fuzzer. For tests.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "base/random.h"

namespace paternoster {

// PATERNOSTER_SEED, or another one each time.
inline std::uint64_t first_seed() {
  if (const char* given = std::getenv("PATERNOSTER_SEED")) return std::strtoull(given, nullptr, 10);
  return std::random_device{}();
}

// The bytes of one stream of a seed.
struct RandomBytes {
  std::uint64_t seed;
  std::uint64_t stream;
  std::uint64_t counter = 0;
  std::uint8_t operator()() {
    return static_cast<std::uint8_t>(random_u64(seed, stream, counter++) >> 24);
  }
};

// A fuzzer's bytes as a configuration and a script; aborts with what the script found. `Script` as
// in scheduler/testing/script.h.
template <typename Script>
void play_bytes(const std::uint8_t* data, std::size_t size) {
  auto at = std::make_shared<std::size_t>(0);
  const typename Script::Bytes next = [=] { return *at < size ? data[(*at)++] : std::uint8_t{0}; };
  Script script(Script::config_of(next), next);
  while (*at < size && script.act()) {
  }
  if (script.finish()) return;
  std::fprintf(stderr, "%s\n", script.failure().c_str());
  std::abort();
}

}  // namespace paternoster
