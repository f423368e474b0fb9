// Attention over a paged key-value cache, for one key-value head at a time.
//
// Layout of the cache, of which each layer of the model has one pool:
//   pool = block[0] block[1] ...                 kv_block_bytes() each
//   block = kv head 0, kv head 1, ...
//   head  = keys   [head_dim][16 positions]      (transposed: 16 positions are one vector)
//           values [16 positions][head_dim]
// with elements of 16 bits (f16, bf16), or of 8 (q8_0), whose keys and whose values are each followed by an
// f16 scale for every 32 elements of a head: [head_dim / 32][16 positions], [16 positions][head_dim / 32].
// A sequence's position p lives in its block table's entry p / 16, slot p % 16. Elements that were
// never stored are never read as numbers.
//
// Bits: a query's result depends on its own vector, its position and the keys and values it may see.
// Scores are one chain over head_dim; the softmax is computed per split of 128 absolute positions, the
// splits of 1024 positions (a part) are merged from first to last, then the parts; so neither the number
// of queries in a call nor chunking, threads or the instruction set can change a bit.
//
// Threads: disjoint (queries, kv head) may run at once; and, where queries are few and see much, disjoint
// parts of them (attention_part), which are merged afterwards (attention_merge): the same bits as in one go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/kv_type.h"

namespace paternoster::kernels {

inline constexpr std::size_t kKvBlockPositions = 16;
inline constexpr std::size_t kAttentionSplit = 128;  // positions whose softmax is taken together
inline constexpr std::size_t kAttentionPart = 1024;  // positions whose splits are merged together
inline constexpr std::size_t kMaxHeadDim = 256;      // head_dim: a multiple of 16 up to this

const char* kv_type_name(KvType type) noexcept;                     // "f16", "bf16", "q8_0"
std::optional<KvType> parse_kv_type(std::string_view name) noexcept;

struct AttentionShape {
  std::size_t heads;     // query heads, a multiple of kv_heads
  std::size_t kv_heads;
  std::size_t head_dim;  // a multiple of 16, at most kMaxHeadDim
  std::size_t window;    // a query at p sees positions p - window + 1 ... p; 0: all up to p
  float scale;           // of the scores, usually 1 / sqrt(head_dim)
  KvType type = KvType::kF16;
};

// True when the kernels can run this shape; ask before anything else (a model file chooses it).
bool is_supported(const AttentionShape& shape) noexcept;

// Bytes of one head's keys, or values, in a block of 16 positions.
constexpr std::size_t kv_half_bytes(const AttentionShape& shape) noexcept {
  const std::size_t scales = (shape.head_dim + 31) / 32 * sizeof(std::uint16_t);
  return kKvBlockPositions *
         (shape.type == KvType::kQ8_0 ? shape.head_dim + scales : shape.head_dim * sizeof(std::uint16_t));
}

// Bytes that one block of 16 positions takes in one layer (keys and values).
constexpr std::size_t kv_block_bytes(const AttentionShape& shape) noexcept {
  return 2 * kv_half_bytes(shape) * shape.kv_heads;
}

// Stores one token's keys and values (kv_heads * head_dim floats each, rope already applied) into slot
// `position % 16` of a block. Values beyond f16's range become its largest finite number.
void store_kv(const AttentionShape& shape, std::byte* pool, std::uint32_t block, std::size_t slot,
              const float* keys, const float* values);

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
void attention(const AttentionShape& shape, const std::byte* pool, const AttentionQueries& queries,
               std::size_t kv_head);

// How many parts a query at `position` sees at most, and the floats that their results take for each of
// the call's queries and heads of one key-value head.
constexpr std::size_t attention_parts(std::size_t position) noexcept {
  return position / kAttentionPart + 1;
}
constexpr std::size_t attention_part_floats(const AttentionShape& shape, std::size_t queries) noexcept {
  return queries * (shape.heads / shape.kv_heads) * (shape.head_dim + 16);
}

// The same in two steps: every part on its own, then all of them merged. `results` has
// attention_part_floats for each part, part after part.
void attention_part(const AttentionShape& shape, const std::byte* pool, const AttentionQueries& queries,
                    std::size_t kv_head, std::size_t part, float* results);
void attention_merge(const AttentionShape& shape, const AttentionQueries& queries, std::size_t kv_head,
                     std::size_t parts, const float* results);

}  // namespace paternoster::kernels
