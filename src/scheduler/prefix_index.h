// Which full blocks hold which tokens after which prefix, so that sequences can share them.
//
// A block is found by a chained hash (of its tokens, the blocks before it, and the cache namespace)
// and then verified: its tokens, its namespace and its parent must be equal, so a hash collision
// costs a hit and never an answer. The parent is verified by its node: a number given once to each
// indexed content and never again, so equality of (parent node, tokens) is equality of the whole
// prefix, by induction. Chained block hashes: vLLM's automatic prefix caching; the tree of
// contents: SGLang's RadixAttention (arXiv 2312.07104, section 3).
//
// Invariant: a block is in the index at most once, and each hash names at most one block (the
// newest). Internal to scheduler/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "scheduler/flat_map.h"

namespace paternoster::scheduler {

class PrefixIndex {
 public:
  static constexpr std::uint64_t kRoot = 0;  // the parent node of a sequence's first block

  PrefixIndex(std::int32_t num_blocks, std::int32_t block_size);

  // What names a block, apart from its verified content.
  struct Key {
    std::uint64_t hash = 0;
    std::uint64_t parent = kRoot;
    std::uint64_t cache_namespace = 0;
  };

  static std::uint64_t root_hash(std::uint64_t cache_namespace);
  static std::uint64_t chain(std::uint64_t parent_hash, std::span<const TokenId> tokens);

  // The block that holds exactly these tokens after exactly this parent.
  std::optional<BlockId> find(const Key& key, std::span<const TokenId> tokens) const;

  struct Inserted {
    std::uint64_t node;                // of this content, whichever block represents it
    std::optional<BlockId> displaced;  // left the index: other content with the same hash
  };
  // Records that `block`, not yet indexed, holds these tokens. Content that another block
  // represents already stays with that block.
  Inserted insert(BlockId block, const Key& key, std::span<const TokenId> tokens);

  // Forgets a block; it must be indexed.
  void remove(BlockId block);

  bool contains(BlockId block) const { return entries_[block.value].node != kRoot; }
  std::uint64_t node(BlockId block) const { return entries_[block.value].node; }
  std::span<const TokenId> tokens(BlockId block) const;
  std::size_t size() const { return by_hash_.size(); }

 private:
  struct Entry {
    Key key;
    std::uint64_t node = kRoot;  // kRoot: not indexed
  };
  bool equal(BlockId block, const Key& key, std::span<const TokenId> tokens) const;

  std::int32_t block_size_;
  std::vector<Entry> entries_;   // by block
  std::vector<TokenId> tokens_;  // block_size a block
  FlatMap by_hash_;
  std::uint64_t next_node_ = kRoot + 1;
};

}  // namespace paternoster::scheduler
