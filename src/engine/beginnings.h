// How a prompt begins, before it is rendered and tokenised: what a placement compares to send prompts
// that begin alike to the same engine. A guess about tokens from bytes; it decides where a call goes,
// never what is answered.
#pragma once

#include <cstdint>
#include <vector>

#include "api/generation.h"

namespace paternoster::engine {

struct Beginnings {
  std::int64_t bytes = 0;   // of text; 0: the prompt came as tokens
  std::int64_t tokens = 0;  // if it did
  // Entry k is a digest of the first k + 1 blocks; those of different owners or salts have none in common.
  std::vector<std::uint64_t> chain;
};

inline constexpr std::size_t kBeginningBytes = 256;  // a block: some 64 tokens
inline constexpr std::size_t kMostBeginnings = 128;

Beginnings beginnings_of(const api::Generation& generation);

}  // namespace paternoster::engine
