#include "engine/kv_cache.h"

#include <cstring>
#include <utility>

#include "base/check.h"

namespace paternoster::engine {

KvCache::KvCache(std::size_t layers, const kernels::AttentionShape& shape, std::size_t blocks,
                 std::size_t host_blocks, std::unique_ptr<SwapFile> file)
    : blocks_(blocks),
      host_blocks_(host_blocks),
      bytes_(kernels::kv_block_bytes(shape)),
      type_(shape.type),
      pools_(make_pools(layers, blocks)),
      host_(make_pools(layers, file ? 0 : host_blocks)),
      file_(std::move(file)) {
  PATERNOSTER_CHECK(file_ == nullptr || file_->blocks() >= host_blocks);
}

KvCache::Pools KvCache::make_pools(std::size_t layers, std::size_t blocks) const {
  Pools pools;
  if (blocks == 0) return pools;
  pools.reserve(layers);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    pools.emplace_back(blocks * bytes_);
  }
  return pools;
}

void KvCache::copy(std::span<const scheduler::BlockCopy> copies, Pools& from,
                   std::size_t from_blocks, Pools& to, std::size_t to_blocks) {
  for (const scheduler::BlockCopy& copy : copies) {
    PATERNOSTER_CHECK(copy.from.value < from_blocks && copy.to.value < to_blocks);
    for (std::size_t layer = 0; layer < pools_.size(); ++layer) {
      std::memcpy(to[layer].data() + copy.to.value * bytes_, from[layer].data() + copy.from.value * bytes_,
                  bytes_);
    }
  }
}

// A block's layers lie together in the file.
void KvCache::write_out(std::span<const scheduler::BlockCopy> copies) {
  std::vector<std::span<const std::byte>> parts;
  for (const scheduler::BlockCopy& copy : copies) {
    PATERNOSTER_CHECK(copy.from.value < blocks_ && copy.to.value < host_blocks_);
    parts.clear();
    for (const auto& pool : pools_) parts.emplace_back(pool.data() + copy.from.value * bytes_, bytes_);
    file_->write(copy.to.value, parts);
  }
}

void KvCache::read_in(std::span<const scheduler::BlockCopy> copies) {
  std::vector<std::span<std::byte>> parts;
  for (const scheduler::BlockCopy& copy : copies) {
    PATERNOSTER_CHECK(copy.from.value < host_blocks_ && copy.to.value < blocks_);
    parts.clear();
    for (auto& pool : pools_) parts.emplace_back(pool.data() + copy.to.value * bytes_, bytes_);
    file_->read(copy.from.value, parts);
  }
}

void KvCache::carry_out_copies(const scheduler::Plan& plan) {
  if (file_) {
    write_out(plan.swap_out);
    read_in(plan.swap_in);
  } else {
    copy(plan.swap_out, pools_, blocks_, host_, host_blocks_);
    copy(plan.swap_in, host_, host_blocks_, pools_, blocks_);
  }
  copy(plan.copies, pools_, blocks_, pools_, blocks_);
}

std::uint64_t KvCache::block_bytes(std::size_t layers, const kernels::AttentionShape& shape) {
  return std::uint64_t{layers} * kernels::kv_block_bytes(shape);
}

}  // namespace paternoster::engine
