// The merge loop of byte pair encoding, shared by both kinds of tokenizer.
//
// Merges the best pair (lowest rank, then leftmost) until none is left. Short words by scanning,
// long ones by a queue over a linked list: O(n log n). Internal to text/; one Scratch a thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/hash_maps.h"
#include "text/merge_queue.h"

namespace paternoster::text {

struct Symbol {
  TokenId id;  // -1: in no vocabulary (yet)
  std::uint32_t begin;
  std::uint32_t length;
  std::int32_t previous = -1;  // only while a long word is merged
  std::int32_t next = -1;
};

struct MergeScratch {
  std::vector<std::uint32_t> ranks;
  std::vector<TokenId> ids;
  MergeQueue queue;
};

inline constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();

// find(left, right) -> Merge with rank kNoRank if the two do not merge.
template <typename Find>
void merge_short(std::vector<Symbol>& symbols, const Find& find, MergeScratch& scratch) {
  std::size_t count = symbols.size();
  auto& ranks = scratch.ranks;
  auto& ids = scratch.ids;
  ranks.assign(count, kNoRank);
  ids.assign(count, -1);
  const auto look = [&](std::size_t left) {
    const Merge merge = find(symbols[left], symbols[left + 1]);
    ranks[left] = merge.rank;
    ids[left] = merge.id;
  };
  for (std::size_t i = 0; i + 1 < count; ++i) look(i);
  while (count > 1) {
    const auto end = ranks.begin() + static_cast<std::ptrdiff_t>(count - 1);
    const auto lowest = std::min_element(ranks.begin(), end);
    const auto best = static_cast<std::size_t>(lowest - ranks.begin());
    if (ranks[best] == kNoRank) break;
    symbols[best].id = ids[best];
    symbols[best].length += symbols[best + 1].length;
    for (std::size_t i = best + 1; i + 1 < count; ++i) {
      symbols[i] = symbols[i + 1];
      ranks[i] = ranks[i + 1];
      ids[i] = ids[i + 1];
    }
    --count;
    if (best > 0) look(best - 1);
    if (best + 1 < count) {
      look(best);
    } else {
      ranks[best] = kNoRank;
    }
  }
  symbols.resize(count);
}

template <typename Find>
void merge_long(std::vector<Symbol>& symbols, const Find& find, MergeQueue& queue) {
  const auto count = static_cast<std::int32_t>(symbols.size());
  const auto at = [&](std::int32_t index) -> Symbol& {
    return symbols[static_cast<std::size_t>(index)];
  };
  const auto look = [&](std::int32_t left, std::int32_t right) {
    const Merge merge = find(at(left), at(right));
    if (merge.rank == kNoRank) return;
    const std::uint32_t length = at(left).length + at(right).length;
    queue.push(merge.rank, {static_cast<std::uint32_t>(left), length, merge.id});
  };
  queue.clear();
  for (std::int32_t i = 0; i < count; ++i) {
    at(i).previous = i - 1;
    at(i).next = i + 1 < count ? i + 1 : -1;
    if (i + 1 < count) look(i, i + 1);
  }
  while (!queue.empty()) {
    const MergeQueue::Candidate best = queue.pop();
    const auto index = static_cast<std::int32_t>(best.left);
    Symbol& left = at(index);
    if (left.length == 0 || left.next < 0) continue;
    Symbol& right = at(left.next);
    if (left.length + right.length != best.length) continue;
    left.id = best.id;
    left.length = best.length;
    left.next = right.next;
    right.length = 0;
    if (left.previous >= 0) look(left.previous, index);
    if (left.next >= 0) {
      at(left.next).previous = index;
      look(index, left.next);
    }
  }
  std::erase_if(symbols, [](const Symbol& symbol) { return symbol.length == 0; });
}

inline constexpr std::size_t kShortWord = 32;
inline constexpr std::size_t kHugeWord = 1 << 16;

template <typename Find>
void merge_symbols(std::vector<Symbol>& symbols, const Find& find, MergeScratch& scratch) {
  if (symbols.size() <= kShortWord) {
    merge_short(symbols, find, scratch);
  } else {
    const bool is_huge = symbols.size() > kHugeWord;
    merge_long(symbols, find, scratch.queue);
    if (is_huge) scratch.queue = MergeQueue();  // a thread keeps no megabytes for one odd text
  }
}

}  // namespace paternoster::text
