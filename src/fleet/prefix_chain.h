// A prompt's beginnings as digests: entry k stands for its first (k + 1) * block tokens, so that two
// prompts share entry k exactly when they begin alike (and in the same namespace). What the fleet
// looks up to find an engine that has computed this beginning before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "scheduler/mix.h"

namespace paternoster::fleet {

// At most `most` entries, only of whole blocks.
inline std::vector<std::uint64_t> prefix_chain(std::span<const TokenId> prompt, std::size_t block,
                                               std::size_t most, std::uint64_t cache_namespace) {
  std::vector<std::uint64_t> chain(std::min(prompt.size() / block, most));
  std::uint64_t digest = scheduler::mix(scheduler::kMixStart, cache_namespace);
  for (std::size_t at = 0; at < chain.size() * block; ++at) {
    digest = scheduler::mix(digest, static_cast<std::uint64_t>(prompt[at]));
    if ((at + 1) % block == 0) chain[at / block] = digest;
  }
  return chain;
}

}  // namespace paternoster::fleet
