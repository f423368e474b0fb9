#include "scheduler/prefix_index.h"

#include <algorithm>

#include "base/check.h"
#include "scheduler/mix.h"

namespace paternoster::scheduler {

PrefixIndex::PrefixIndex(std::int32_t num_blocks, std::int32_t block_size)
    : block_size_(block_size),
      entries_(static_cast<std::size_t>(num_blocks)),
      tokens_(static_cast<std::size_t>(num_blocks) * static_cast<std::size_t>(block_size)),
      by_hash_(static_cast<std::size_t>(num_blocks) + 1) {}

std::uint64_t PrefixIndex::root_hash(std::uint64_t cache_namespace) {
  return mix(kMixStart, cache_namespace);
}

std::uint64_t PrefixIndex::chain(std::uint64_t parent_hash, std::span<const TokenId> tokens) {
  std::uint64_t hash = parent_hash;
  for (const TokenId token : tokens) hash = mix(hash, static_cast<std::uint32_t>(token));
  return hash;
}

std::span<const TokenId> PrefixIndex::tokens(BlockId block) const {
  const auto size = static_cast<std::size_t>(block_size_);
  return std::span(tokens_).subspan(block.value * size, size);
}

bool PrefixIndex::equal(BlockId block, const Key& key, std::span<const TokenId> tokens) const {
  const Entry& entry = entries_[block.value];
  return entry.key.parent == key.parent && entry.key.cache_namespace == key.cache_namespace &&
         std::ranges::equal(this->tokens(block), tokens);
}

std::optional<BlockId> PrefixIndex::find(const Key& key, std::span<const TokenId> tokens) const {
  const std::uint32_t* found = by_hash_.find(key.hash);
  if (found == nullptr || !equal(BlockId{*found}, key, tokens)) return std::nullopt;
  return BlockId{*found};
}

PrefixIndex::Inserted PrefixIndex::insert(BlockId block, const Key& key,
                                          std::span<const TokenId> tokens) {
  PATERNOSTER_CHECK(!contains(block) && tokens.size() == static_cast<std::size_t>(block_size_));
  Inserted inserted{kRoot, std::nullopt};
  if (const std::uint32_t* found = by_hash_.find(key.hash)) {
    const BlockId other{*found};
    if (equal(other, key, tokens)) return {node(other), std::nullopt};
    remove(other);
    inserted.displaced = other;
  }
  by_hash_.put(key.hash, block.value);
  std::ranges::copy(tokens,
                    tokens_.begin() + static_cast<std::ptrdiff_t>(block.value) * block_size_);
  inserted.node = next_node_++;
  entries_[block.value] = {key, inserted.node};
  return inserted;
}

void PrefixIndex::remove(BlockId block) {
  PATERNOSTER_CHECK(contains(block));
  by_hash_.erase(entries_[block.value].key.hash);
  entries_[block.value].node = kRoot;
}

}  // namespace paternoster::scheduler
