// Running sequences in the order of admission each get what they have left to compute, as far as the
// step's tokens go, with no difference between prompts and decodes (vLLM V1's unified scheduler).
// Since the last admitted stand last, a prompt on its way seldom keeps a decode waiting; one that
// was admitted earlier does.
#pragma once

#include <algorithm>
#include <cstdint>

namespace paternoster::scheduler::prefill {

struct Chunked {
  static constexpr bool kDecodesFirst = false;

  static std::int32_t tokens(std::int32_t rest, std::int32_t budget) {
    return std::min(rest, budget);
  }
};

}  // namespace paternoster::scheduler::prefill
