#include "engine/kv_cache.h"

#include <cstring>

#include "base/check.h"

namespace paternoster::engine {

KvCache::KvCache(std::size_t layers, const kernels::AttentionShape& shape, std::size_t blocks)
    : blocks_(blocks), bytes_(kernels::kv_block_bytes(shape)), type_(shape.type) {
  pools_.reserve(layers);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    pools_.emplace_back(blocks * bytes_);
  }
}

void KvCache::copy(std::span<const scheduler::BlockCopy> copies) {
  for (const scheduler::BlockCopy& copy : copies) {
    PATERNOSTER_CHECK(copy.from.value < blocks_ && copy.to.value < blocks_);
    for (std::size_t layer = 0; layer < pools_.size(); ++layer) {
      std::memcpy(pool(layer) + copy.to.value * bytes_, pool(layer) + copy.from.value * bytes_, bytes_);
    }
  }
}

std::uint64_t KvCache::block_bytes(std::size_t layers, const kernels::AttentionShape& shape) {
  return std::uint64_t{layers} * kernels::kv_block_bytes(shape);
}

}  // namespace paternoster::engine
