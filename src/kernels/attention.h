// Attention over a paged key-value cache, for one key-value head at a time.
//
// Layout of the cache (f16 elements), of which each layer of the model has one pool:
//   pool = block[0] block[1] ...                 kv_block_elements() elements each
//   block = kv head 0, kv head 1, ...            2 * 16 * head_dim elements each
//   head  = keys   [head_dim][16 positions]      (transposed: 16 positions are one vector)
//           values [16 positions][head_dim]
// A sequence's position p lives in its block table's entry p / 16, slot p % 16. Elements that were
// never stored are never read as numbers.
//
// Bits: a query's result depends on its own vector, its position and the keys and values it may see.
// Scores are one chain over head_dim; the softmax is computed per split of 128 absolute positions and
// the splits are merged from first to last; so neither the number of queries in a call nor chunking,
// threads or the instruction set can change a bit.
//
// Threads: disjoint (queries, kv head) may run at once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paternoster::kernels {

inline constexpr std::size_t kKvBlockPositions = 16;
inline constexpr std::size_t kAttentionSplit = 128;  // positions whose softmax is taken together
inline constexpr std::size_t kMaxHeadDim = 256;      // head_dim: a multiple of 16 up to this

struct AttentionShape {
  std::size_t heads;     // query heads, a multiple of kv_heads
  std::size_t kv_heads;
  std::size_t head_dim;  // a multiple of 16, at most kMaxHeadDim
  std::size_t window;    // a query at p sees positions p - window + 1 ... p; 0: all up to p
  float scale;           // of the scores, usually 1 / sqrt(head_dim)
};

// True when the kernels can run this shape; ask before anything else (a model file chooses it).
bool is_supported(const AttentionShape& shape) noexcept;

// Elements of 16 bits that one block of 16 positions takes in one layer (keys and values).
constexpr std::size_t kv_block_elements(const AttentionShape& shape) noexcept {
  return 2 * kKvBlockPositions * shape.head_dim * shape.kv_heads;
}

// Stores one token's keys and values (kv_heads * head_dim floats each, rope already applied) as f16
// into slot `position % 16` of a block. Values beyond f16's range become its largest finite number.
void store_kv(const AttentionShape& shape, std::uint16_t* pool, std::uint32_t block,
              std::size_t slot, const float* keys, const float* values);

// Consecutive queries of one sequence: query i stands at first_position + i, at
// queries + i * query_stride (heads * head_dim floats), and its result goes to out + i * out_stride.
struct AttentionQueries {
  const float* queries;
  std::size_t query_stride;
  float* out;
  std::size_t out_stride;
  const std::uint32_t* blocks;  // the sequence's block table, long enough for the last position
  std::size_t first_position;
  std::size_t count;
};

// Computes, for all query heads that share key-value head kv_head, out = softmax(scale * q K) V.
// The keys and values of every query's own position must have been stored already.
void attention(const AttentionShape& shape, const std::uint16_t* pool,
               const AttentionQueries& queries, std::size_t kv_head);

}  // namespace paternoster::kernels
