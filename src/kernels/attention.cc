#include "kernels/attention.h"

#include "base/check.h"
#include "kernels/kernel_table.h"

namespace paternoster::kernels {

bool is_supported(const AttentionShape& shape) noexcept {
  return shape.head_dim > 0 && shape.head_dim % 16 == 0 && shape.head_dim <= kMaxHeadDim &&
         shape.kv_heads > 0 && shape.heads > 0 && shape.heads % shape.kv_heads == 0;
}

void store_kv(const AttentionShape& shape, std::uint16_t* pool, std::uint32_t block,
              std::size_t slot, const float* keys, const float* values) {
  PATERNOSTER_CHECK(is_supported(shape) && slot < kKvBlockPositions);
  const std::size_t half = kKvBlockPositions * shape.head_dim;
  std::uint16_t* head = pool + block * kv_block_elements(shape);
  std::uint16_t key[kMaxHeadDim];
  for (std::size_t h = 0; h < shape.kv_heads; ++h, head += 2 * half) {
    kernels().store_half(keys + h * shape.head_dim, shape.head_dim, key);
    for (std::size_t d = 0; d < shape.head_dim; ++d) {
      head[d * kKvBlockPositions + slot] = key[d];
    }
    kernels().store_half(values + h * shape.head_dim, shape.head_dim,
                         head + half + slot * shape.head_dim);
  }
}

void attention(const AttentionShape& shape, const std::uint16_t* pool,
               const AttentionQueries& queries, std::size_t kv_head) {
  PATERNOSTER_CHECK(is_supported(shape) && kv_head < shape.kv_heads);
  kernels().attention(AttentionCall{shape.heads, shape.kv_heads, shape.head_dim, shape.window,
                                    shape.scale, pool, queries.queries, queries.query_stride,
                                    queries.out, queries.out_stride, queries.blocks,
                                    queries.first_position, queries.count, kv_head});
}

}  // namespace paternoster::kernels
