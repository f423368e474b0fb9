// Prompt lookup: what a sequence will say next is guessed from what followed the same tokens before, in
// its prompt or in its output ("Prompt Lookup Decoding", A. Saxena, 2023; "Inference with Reference",
// arXiv 2304.04487, section 3). Needs no other model; guesses well where answers copy: summaries, edits
// of code, tables.
//
// Every pair of neighbouring tokens is chained to the pair's occurrence before. Of the last
// kCandidates occurrences of the pair that ends the sequence, the one whose past agrees longest with
// the sequence's own is taken, the newest among equals. O(1) for each token, integers only, nothing
// allocated after reserve(). The tokens stay where they are: callers say what stands at a position.
// Internal to scheduler/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "scheduler/mix.h"

namespace paternoster::scheduler::speculation {

class NgramIndex {
 public:
  static constexpr std::int32_t kNowhere = -1;

  void clear() {
    heads_.clear();
    indexed_ = 0;
  }

  // Room for a sequence of so many tokens.
  void reserve(std::int32_t tokens) {
    if (!heads_.empty()) return;
    std::size_t buckets = 64;
    while (buckets < static_cast<std::size_t>(tokens)) buckets *= 2;
    heads_.assign(buckets, kNowhere);
    before_.resize(std::max(before_.size(), static_cast<std::size_t>(tokens)));
  }

  // Where, of `known` tokens, the one stands that followed what ends the sequence now; kNowhere if that
  // was never there before. Takes up the tokens that came since the last call.
  template <typename TokenAt>
  std::int32_t find(std::int32_t known, TokenAt&& token_at) {
    // The pair at the very end has nothing after it yet.
    for (std::int32_t end = std::max(indexed_ + 1, 1); end + 1 < known; ++end) {
      std::int32_t& head = heads_[bucket(token_at(end - 1), token_at(end))];
      before_[static_cast<std::size_t>(end)] = head;
      head = indexed_ = end;
    }
    if (known < 3) return kNowhere;
    std::int32_t best = kNowhere;
    std::int32_t best_agrees = 1;
    std::int32_t at = heads_[bucket(token_at(known - 2), token_at(known - 1))];
    for (int seen = 0; at != kNowhere && seen < kCandidates; ++seen) {
      const std::int32_t agrees = agreement(at, known - 1, token_at);
      if (agrees > best_agrees) {
        best = at;
        best_agrees = agrees;
      }
      at = before_[static_cast<std::size_t>(at)];
    }
    return best == kNowhere ? kNowhere : best + 1;
  }

 private:
  static constexpr int kCandidates = 8;
  static constexpr std::int32_t kLongest = 16;

  // Tokens before and at `earlier` that equal those before and at `end`.
  template <typename TokenAt>
  static std::int32_t agreement(std::int32_t earlier, std::int32_t end, TokenAt&& token_at) {
    std::int32_t agrees = 0;
    while (agrees <= earlier && agrees < kLongest && token_at(earlier - agrees) == token_at(end - agrees)) {
      ++agrees;
    }
    return agrees;
  }

  std::size_t bucket(TokenId first, TokenId second) const {
    const std::uint64_t pair = (std::uint64_t{static_cast<std::uint32_t>(first)} << 32) |
                               static_cast<std::uint32_t>(second);
    return static_cast<std::size_t>(mix(kMixStart, pair) >> 20) & (heads_.size() - 1);
  }

  std::vector<std::int32_t> heads_;   // by hash of a pair: where it ended last
  std::vector<std::int32_t> before_;  // by where a pair ends: where one of its bucket ended before
  std::int32_t indexed_ = 0;          // the last end taken up
};

}  // namespace paternoster::scheduler::speculation
