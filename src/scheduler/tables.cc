#include "scheduler/tables.h"

#include <algorithm>

#include "base/check.h"
#include "scheduler/boarding/boarding.h"
#include "scheduler/order/deadline.h"

namespace paternoster::scheduler {
namespace {

BlockId take(State& state) {
  const BlockPool::Taken taken = state.pool.take();
  if (taken.was_cached) state.index.remove(taken.block);
  return taken.block;
}

std::span<const TokenId> tokens_of_block(State& state, const Sequence& sequence,
                                         std::size_t block) {
  const std::int32_t size = state.config.limits.block_size;
  const std::int32_t first = static_cast<std::int32_t>(block) * size;
  const auto& prompt = state.groups[sequence.group].prompt;
  if (static_cast<std::size_t>(first) + size <= prompt.size()) {
    return std::span(prompt).subspan(first, size);
  }
  state.block_tokens.clear();
  for (std::int32_t at = first; at < first + size; ++at) {
    state.block_tokens.push_back(token_at(state, sequence, at));
  }
  return state.block_tokens;
}

// The index key of a block, given the node of the one before; extends the sequence's chain of
// hashes.
PrefixIndex::Key key_of_block(const State& state, Sequence& sequence, std::size_t block,
                              std::uint64_t parent, std::span<const TokenId> tokens) {
  PATERNOSTER_CHECK(block <= sequence.hashes.size());
  const std::uint64_t cache_namespace = state.groups[sequence.group].cache_namespace;
  if (sequence.hashes.size() == block) {
    const std::uint64_t before =
        block == 0 ? PrefixIndex::root_hash(cache_namespace) : sequence.hashes.back();
    sequence.hashes.push_back(PrefixIndex::chain(before, tokens));
  }
  return {sequence.hashes[block], parent, cache_namespace};
}

void find_cached(State& state, Sequence& sequence, Start& start) {
  const Limits& limits = state.config.limits;
  if (!limits.prefix_cache || !state.groups[sequence.group].reads_prefix_cache) return;
  if (state.config.choices.boarding == Boarding::kSliced && sequence.slices > 0) return;
  // The last token is always computed: something must be sampled from.
  const std::int32_t full_blocks = (known_tokens(state, sequence) - 1) / limits.block_size;
  std::uint64_t parent = PrefixIndex::kRoot;
  for (std::size_t block = 0; block < static_cast<std::size_t>(full_blocks); ++block) {
    const auto tokens = tokens_of_block(state, sequence, block);
    const auto found =
        state.index.find(key_of_block(state, sequence, block, parent, tokens), tokens);
    if (!found) break;
    parent = state.index.node(*found);
    start.blocks.push_back(*found);
    start.nodes.push_back(parent);
    start.revived += state.pool.references(*found) == 0 ? 1 : 0;
  }
  start.computed = static_cast<std::int32_t>(start.blocks.size()) * limits.block_size;
}

void find_fork(const State& state, Sequence& sequence, const Sequence& sibling, Start& start) {
  const std::int32_t shared = prompt_tokens(state, sibling) - 1;
  if (shared <= start.computed) return;
  const auto full = static_cast<std::size_t>(shared / state.config.limits.block_size);
  start.clear();
  start.computed = shared;
  start.blocks.assign(sibling.blocks.begin(), sibling.blocks.begin() + full);
  if (sequence.hashes.size() < full) {  // they have these blocks' tokens in common
    sequence.hashes.assign(sibling.hashes.begin(),
                           sibling.hashes.begin() + std::min(full, sibling.hashes.size()));
  }
  const std::size_t nodes = std::min(full, sibling.nodes.size());
  start.nodes.assign(sibling.nodes.begin(), sibling.nodes.begin() + nodes);
  if (shared % state.config.limits.block_size != 0) start.copy_from = sibling.blocks[full];
  start.forked = true;
}

}  // namespace

void Start::clear() {
  computed = revived = 0;
  blocks.clear();
  nodes.clear();
  copy_from.reset();
  forked = swapped = false;
}

std::int32_t worst_blocks(const State& state, const Sequence& sequence) {
  // The last token sampled is never computed.
  return blocks_for(state, prompt_tokens(state, sequence) + horizon(state, sequence) - 1);
}

std::int32_t horizon(const State& state, const Sequence& sequence) {
  if (sequence.horizon > 0) return sequence.horizon;
  const Limits& limits = state.config.limits;
  const std::int32_t prompt = prompt_tokens(state, sequence);
  const std::int32_t most =
      std::min(limits.max_len, limits.num_blocks * limits.block_size + 1) - prompt;
  return boarding::horizon(state.config, state.groups[sequence.group].max_new,
                           static_cast<std::int32_t>(sequence.output.size()), state.longest_asked,
                           most);
}

std::int32_t unpromised(const State& state) { return state.pool.available() - state.reserved; }

void grow(State& state, Sequence& sequence) {
  if (sequence.reserved > 0) {
    --sequence.reserved;
    --state.reserved;
  } else {
    PATERNOSTER_CHECK(unpromised(state) > 0);
  }
  sequence.blocks.push_back(take(state));
}

void find_start(State& state, Sequence& sequence, const Sequence* sibling, Start& start) {
  start.clear();
  find_cached(state, sequence, start);
  if (sibling != nullptr) find_fork(state, sequence, *sibling, start);
  if (sequence.host_tokens <= start.computed) return;
  // What the cache has is shared all the same; the host has the rest.
  start.computed = sequence.host_tokens;
  start.copy_from.reset();
  start.forked = false;
  start.swapped = true;
}

std::int32_t swap_out(State& state, Sequence& sequence) {
  const std::int32_t blocks = blocks_for(state, sequence.computed);
  if (blocks == 0 || blocks > state.host.free()) return 0;
  for (std::int32_t at = 0; at < blocks; ++at) {
    sequence.host.push_back(state.host.take());
    state.leaving.push_back({sequence.blocks[static_cast<std::size_t>(at)], sequence.host.back()});
  }
  sequence.host_tokens = sequence.computed;
  sequence.swapped += blocks;
  state.totals.blocks_swapped_out += static_cast<std::uint64_t>(blocks);
  return blocks;
}

std::int32_t swap_in(State& state, Sequence& sequence, std::size_t from) {
  std::int32_t blocks = 0;
  for (std::size_t at = 0; at < sequence.host.size(); ++at) {
    if (at >= from) {
      state.plan.swap_in.push_back({sequence.host[at], sequence.blocks[at]});
      ++blocks;
    }
    state.host.release_after_step(sequence.host[at]);
  }
  sequence.host.clear();
  sequence.host_tokens = 0;
  sequence.swapped += blocks;
  state.totals.blocks_swapped_in += static_cast<std::uint64_t>(blocks);
  return blocks;
}

void leave_host(State& state, Sequence& sequence) {
  for (const BlockId block : sequence.host) state.host.release(block);
  sequence.host.clear();
  sequence.host_tokens = 0;
}

std::int32_t cached_tokens(const State& state, std::span<const TokenId> prompt,
                           std::uint64_t cache_namespace) {
  if (!state.config.limits.prefix_cache) return 0;
  const auto size = static_cast<std::size_t>(state.config.limits.block_size);
  PrefixIndex::Key key{PrefixIndex::root_hash(cache_namespace), PrefixIndex::kRoot,
                       cache_namespace};
  std::size_t found_tokens = 0;
  for (; found_tokens + size < prompt.size(); found_tokens += size) {
    const auto tokens = prompt.subspan(found_tokens, size);
    key.hash = PrefixIndex::chain(key.hash, tokens);
    const auto found = state.index.find(key, tokens);
    if (!found) break;
    key.parent = state.index.node(*found);
  }
  return static_cast<std::int32_t>(found_tokens);
}

std::int64_t latest_start_ns(const State& state, const Group& group) {
  const std::int32_t cached =
      group.reads_prefix_cache ? cached_tokens(state, group.prompt, group.cache_namespace) : 0;
  return order::Deadline::latest_start_ns(state.config.cost, group.deadline_ns,
                                          static_cast<std::int64_t>(group.prompt.size()), cached,
                                          group.expected);
}

void adopt(State& state, Sequence& sequence, const Start& start) {
  PATERNOSTER_CHECK(sequence.blocks.empty() && sequence.computed == 0);
  for (const BlockId block : start.blocks) state.pool.share(block);
  sequence.blocks.assign(start.blocks.begin(), start.blocks.end());
  sequence.nodes.assign(start.nodes.begin(), start.nodes.end());
  sequence.computed = start.computed;
}

void index_computed(State& state, Sequence& sequence) {
  if (!state.config.limits.prefix_cache) return;
  const auto full = static_cast<std::size_t>(sequence.computed / state.config.limits.block_size);
  while (sequence.nodes.size() < full) {
    const std::size_t block = sequence.nodes.size();
    const std::uint64_t parent = block == 0 ? PrefixIndex::kRoot : sequence.nodes.back();
    const auto tokens = tokens_of_block(state, sequence, block);
    const auto key = key_of_block(state, sequence, block, parent, tokens);
    const auto inserted = state.index.insert(sequence.blocks[block], key, tokens);
    sequence.nodes.push_back(inserted.node);
    if (inserted.displaced && state.pool.is_cached(*inserted.displaced)) {
      state.pool.forget(*inserted.displaced);
    }
  }
}

void release_table(State& state, Sequence& sequence) {
  for (std::size_t at = sequence.blocks.size(); at-- > 0;) {
    const BlockId block = sequence.blocks[at];
    state.pool.release(block, state.config.limits.prefix_cache && state.index.contains(block));
  }
  state.reserved -= sequence.reserved;
  sequence.reserved = 0;
  sequence.holds_reservation = false;
  sequence.blocks.clear();
  sequence.nodes.clear();
  sequence.computed = 0;
  sequence.scheduled = 0;
  sequence.guesses.drop();
}

}  // namespace paternoster::scheduler
