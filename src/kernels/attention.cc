#include "kernels/attention.h"

#include <cstring>

#include "base/check.h"
#include "kernels/kernel_table.h"

namespace paternoster::kernels {
namespace {

constexpr KvType kKvTypes[] = {KvType::kF16, KvType::kBF16, KvType::kQ8_0};

// To nearest, ties to even.
std::uint16_t bfloat16_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

// One head's elements as the cache keeps them, and their scales if the type has any.
struct StoredHead {
  std::uint16_t words[kMaxHeadDim];
  std::int8_t bytes[kMaxHeadDim];
  std::uint16_t scales[kMaxHeadDim / 32];
};

void convert(KvType type, const float* in, std::size_t count, StoredHead& out) {
  switch (type) {
    case KvType::kF16: kernels().store_half(in, count, out.words); break;
    case KvType::kBF16:
      for (std::size_t d = 0; d < count; ++d) {
        out.words[d] = bfloat16_of(in[d]);
      }
      break;
    case KvType::kQ8_0: kernels().quantise_kv(in, count, out.bytes, out.scales); break;
  }
}

void store_key(const AttentionShape& shape, const StoredHead& key, std::size_t slot, std::byte* out) {
  const std::size_t dim = shape.head_dim;
  if (shape.type != KvType::kQ8_0) {
    auto* words = reinterpret_cast<std::uint16_t*>(out);
    for (std::size_t d = 0; d < dim; ++d) {
      words[d * kKvBlockPositions + slot] = key.words[d];
    }
    return;
  }
  auto* bytes = reinterpret_cast<std::int8_t*>(out);
  for (std::size_t d = 0; d < dim; ++d) {
    bytes[d * kKvBlockPositions + slot] = key.bytes[d];
  }
  auto* scales = reinterpret_cast<std::uint16_t*>(out + kKvBlockPositions * dim);
  for (std::size_t g = 0; g < (dim + 31) / 32; ++g) {
    scales[g * kKvBlockPositions + slot] = key.scales[g];
  }
}

void store_value(const AttentionShape& shape, const StoredHead& value, std::size_t slot, std::byte* out) {
  const std::size_t dim = shape.head_dim, groups = (dim + 31) / 32;
  if (shape.type != KvType::kQ8_0) {
    std::memcpy(out + slot * dim * 2, value.words, dim * 2);
    return;
  }
  std::memcpy(out + slot * dim, value.bytes, dim);
  std::memcpy(out + kKvBlockPositions * dim + slot * groups * 2, value.scales, groups * 2);
}

AttentionCall call_of(const AttentionShape& shape, const std::byte* pool, const AttentionQueries& queries,
                      std::size_t kv_head) {
  PATERNOSTER_CHECK(is_supported(shape) && kv_head < shape.kv_heads);
  return {static_cast<std::uint32_t>(shape.type),
          shape.heads,
          shape.kv_heads,
          shape.head_dim,
          shape.window,
          shape.scale,
          reinterpret_cast<const std::uint8_t*>(pool),
          kv_half_bytes(shape),
          queries.queries,
          queries.query_stride,
          queries.out,
          queries.out_stride,
          queries.blocks,
          queries.first_position,
          queries.count,
          kv_head};
}

}  // namespace

const char* kv_type_name(KvType type) noexcept {
  switch (type) {
    case KvType::kF16: return "f16";
    case KvType::kBF16: return "bf16";
    case KvType::kQ8_0: return "q8_0";
  }
  return "?";
}

std::optional<KvType> parse_kv_type(std::string_view name) noexcept {
  for (const KvType type : kKvTypes) {
    if (name == kv_type_name(type)) {
      return type;
    }
  }
  return std::nullopt;
}

bool is_supported(const AttentionShape& shape) noexcept {
  return shape.head_dim > 0 && shape.head_dim % 16 == 0 && shape.head_dim <= kMaxHeadDim &&
         shape.kv_heads > 0 && shape.heads > 0 && shape.heads % shape.kv_heads == 0;
}

void store_kv(const AttentionShape& shape, std::byte* pool, std::uint32_t block, std::size_t slot,
              const float* keys, const float* values) {
  PATERNOSTER_CHECK(is_supported(shape) && slot < kKvBlockPositions);
  const std::size_t half = kv_half_bytes(shape);
  std::byte* head = pool + block * kv_block_bytes(shape);
  StoredHead stored;
  for (std::size_t h = 0; h < shape.kv_heads; ++h, head += 2 * half) {
    convert(shape.type, keys + h * shape.head_dim, shape.head_dim, stored);
    store_key(shape, stored, slot, head);
    convert(shape.type, values + h * shape.head_dim, shape.head_dim, stored);
    store_value(shape, stored, slot, head + half);
  }
}

void attention(const AttentionShape& shape, const std::byte* pool, const AttentionQueries& queries,
               std::size_t kv_head) {
  kernels().attention(call_of(shape, pool, queries, kv_head));
}

void attention_part(const AttentionShape& shape, const std::byte* pool, const AttentionQueries& queries,
                    std::size_t kv_head, std::size_t part, float* results) {
  kernels().attention_part(call_of(shape, pool, queries, kv_head), part,
                           results + part * attention_part_floats(shape, queries.count));
}

void attention_merge(const AttentionShape& shape, const AttentionQueries& queries, std::size_t kv_head,
                     std::size_t parts, const float* results) {
  kernels().attention_merge(call_of(shape, nullptr, queries, kv_head), parts, results);
}

}  // namespace paternoster::kernels
