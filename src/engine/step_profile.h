// Where the time of steps went, by kind of work, as the pool's owner sees it: a fork counts from its
// beginning until its last piece is done. For benchmarks; without one, a step reads no clock.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace paternoster::engine {

enum class Work : std::uint8_t {
  kPrepare,  // embeddings, rope angles, block tables
  kNorm,
  kQueryKeyValue,
  kRope,  // and biases, norms of heads, storing keys and values
  kAttention,
  kAttentionOutput,
  kGateUp,  // and their product, quantised
  kDown,
  kVocabulary,
  kDraw,
};
inline constexpr std::array<const char*, 10> kWorkNames = {
    "prepare", "norm", "query key value", "rope and store", "attention", "attention output",
    "gate and up", "down", "vocabulary", "draw"};

class StepProfile {
 public:
  void begin() { last_ = std::chrono::steady_clock::now(); }
  // Everything since the last call was this.
  void lap(Work work) {
    const auto now = std::chrono::steady_clock::now();
    spent_ns[static_cast<std::size_t>(work)] +=
        std::chrono::duration_cast<std::chrono::nanoseconds>(now - last_).count();
    last_ = now;
  }

  std::array<std::int64_t, kWorkNames.size()> spent_ns{};

 private:
  std::chrono::steady_clock::time_point last_;
};

}  // namespace paternoster::engine
