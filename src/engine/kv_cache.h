// The memory behind the scheduler's block numbers: one pool a layer in the attention kernel's layout.
//
// The scheduler decides which block holds what; here are only bytes. Memory is reserved at birth and
// touched when a block is first written, so a large cache costs nothing at start.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/swap_file.h"
#include "kernels/aligned_buffer.h"
#include "kernels/attention.h"
#include "scheduler/plan.h"

namespace paternoster::engine {

class KvCache {
 public:
  // Every layer has the same heads, dimensions and element type; only the window may differ.
  // `host_blocks`: room for the blocks of those who lost their seat (scheduler/relief/swap.h), in memory or,
  // if one is given, in a file for as many blocks.
  KvCache(std::size_t layers, const kernels::AttentionShape& shape, std::size_t blocks,
          std::size_t host_blocks = 0, std::unique_ptr<SwapFile> file = nullptr);

  std::byte* pool(std::size_t layer) noexcept { return pools_[layer].data(); }
  kernels::KvType type() const noexcept { return type_; }
  std::size_t blocks() const noexcept { return blocks_; }
  std::uint64_t bytes_a_block() const noexcept { return std::uint64_t{pools_.size()} * bytes_; }  // over all layers

  // Copies whole blocks in every layer: what a plan asks for before it is computed.
  void carry_out_copies(const scheduler::Plan& plan);

  // Bytes that one block takes over all layers.
  static std::uint64_t block_bytes(std::size_t layers, const kernels::AttentionShape& shape);

 private:
  using Pools = std::vector<kernels::AlignedBuffer>;
  void copy(std::span<const scheduler::BlockCopy> copies, Pools& from, std::size_t from_blocks,
            Pools& to, std::size_t to_blocks);
  void write_out(std::span<const scheduler::BlockCopy> copies);
  void read_in(std::span<const scheduler::BlockCopy> copies);
  Pools make_pools(std::size_t layers, std::size_t blocks) const;

  std::size_t blocks_;
  std::size_t host_blocks_;
  std::size_t bytes_;  // of one block in one layer
  kernels::KvType type_;
  Pools pools_;
  Pools host_;  // the swap area, unless it is
  std::unique_ptr<SwapFile> file_;
};

}  // namespace paternoster::engine
