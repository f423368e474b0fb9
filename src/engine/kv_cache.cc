#include "engine/kv_cache.h"

#include <cstring>

#include "base/check.h"

namespace paternoster::engine {

KvCache::KvCache(std::size_t layers, const kernels::AttentionShape& shape, std::size_t blocks)
    : blocks_(blocks), elements_(kernels::kv_block_elements(shape)) {
  pools_.reserve(layers);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    pools_.emplace_back(blocks * elements_ * sizeof(std::uint16_t));
  }
}

void KvCache::copy(std::span<const scheduler::BlockCopy> copies) {
  for (const scheduler::BlockCopy& copy : copies) {
    PATERNOSTER_CHECK(copy.from.value < blocks_ && copy.to.value < blocks_);
    for (std::size_t layer = 0; layer < pools_.size(); ++layer) {
      std::memcpy(pool(layer) + copy.to.value * elements_, pool(layer) + copy.from.value * elements_,
                  elements_ * sizeof(std::uint16_t));
    }
  }
}

std::uint64_t KvCache::block_bytes(std::size_t layers, const kernels::AttentionShape& shape) {
  return std::uint64_t{layers} * kernels::kv_block_elements(shape) * sizeof(std::uint16_t);
}

}  // namespace paternoster::engine
