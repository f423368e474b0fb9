#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/reference.h"
#include "kernels/test_support.h"

namespace paternoster::kernels {
namespace {

// A sequence whose blocks lie scattered over a pool full of not-a-number, so that reading anything
// that was not stored shows.
struct Cache {
  AttentionShape shape;
  std::vector<std::uint32_t> blocks;
  std::vector<std::byte> pool;
  std::vector<float> keys, values;  // as the cache holds them

  Cache(const AttentionShape& s, std::size_t positions) : shape(s) {
    const std::size_t count = (positions + 15) / 16;
    pool.assign(kv_block_bytes(shape) * (2 * count + 3), std::byte{0x7F});  // not-a-number in every type
    const std::size_t width = shape.kv_heads * shape.head_dim;
    keys = random_floats(41, positions * width, 2.0f);
    values = random_floats(43, positions * width);
    for (std::size_t b = 0; b < count; ++b) {
      blocks.push_back(static_cast<std::uint32_t>(2 * ((b * 7 + 3) % count) + 1));
    }
    // (b * 7 + 3) mod count repeats when 7 divides count: fall back to plain order
    if (count % 7 == 0) {
      for (std::size_t b = 0; b < count; ++b) {
        blocks[b] = static_cast<std::uint32_t>(2 * b + 1);
      }
    }
    for (std::size_t p = 0; p < positions; ++p) {
      store_kv(shape, pool.data(), blocks[p / 16], p % 16, &keys[p * width], &values[p * width]);
    }
    for (std::size_t p = 0; p < positions; ++p) {
      for (std::size_t i = 0; i < width; ++i) {
        keys[p * width + i] = stored(p, i / shape.head_dim, i % shape.head_dim, false);
        values[p * width + i] = stored(p, i / shape.head_dim, i % shape.head_dim, true);
      }
    }
  }

  // What the layout in attention.h says about where an element is.
  float stored(std::size_t position, std::size_t head, std::size_t d, bool value) const {
    const std::size_t dim = shape.head_dim, slot = position % 16;
    const std::byte* base = pool.data() + blocks[position / 16] * kv_block_bytes(shape) +
                            (2 * head + (value ? 1 : 0)) * kv_half_bytes(shape);
    const std::size_t at = value ? slot * dim + d : d * 16 + slot;
    if (shape.type == KvType::kQ8_0) {
      const std::size_t groups = (dim + 31) / 32;
      const std::size_t scale = value ? slot * groups + d / 32 : d / 32 * 16 + slot;
      return half_to_float(word(base + 16 * dim + 2 * scale)) *
             static_cast<float>(static_cast<std::int8_t>(base[at]));
    }
    const std::uint32_t bits = word(base + 2 * at);
    return shape.type == KvType::kF16 ? half_to_float(static_cast<std::uint16_t>(bits))
                                      : std::bit_cast<float>(bits << 16);
  }

  static std::uint16_t word(const std::byte* at) {
    std::uint16_t out;
    std::memcpy(&out, at, 2);
    return out;
  }

  std::vector<float> attend(const std::vector<float>& queries, std::size_t first,
                            std::size_t count) const {
    const std::size_t width = shape.heads * shape.head_dim;
    std::vector<float> out(count * width, NAN);
    const AttentionQueries call{queries.data(), width, out.data(), width, blocks.data(), first,
                                count};
    for (std::size_t h = 0; h < shape.kv_heads; ++h) {
      attention(shape, pool.data(), call, h);
    }
    return out;
  }
};

std::vector<AttentionShape> shapes() {
  std::vector<AttentionShape> out;
  for (const std::size_t window : {std::size_t{0}, std::size_t{1}, std::size_t{50}, std::size_t{128}}) {
    out.push_back({9, 3, 64, window, 0.125f});
    out.push_back({4, 1, 256, window, 0.0625f});
    out.push_back({2, 2, 80, window, 0.11f});
    out.push_back({32, 1, 16, window, 0.25f});
    out.push_back({9, 3, 64, window, 0.125f, KvType::kBF16});
    out.push_back({9, 3, 64, window, 0.125f, KvType::kQ8_0});
    out.push_back({2, 2, 80, window, 0.11f, KvType::kQ8_0});
  }
  return out;
}

TEST(Attention, EqualsTheReferenceWithinAFewRoundings) {
  for (const AttentionShape& shape : shapes()) {
    const std::size_t positions = 300, width = shape.heads * shape.head_dim;
    const Cache cache(shape, positions);
    for (const std::size_t p : {0, 1, 15, 16, 127, 128, 200, 299}) {
      const auto query = random_floats(p + 47, width, 3.0f);
      const auto out = cache.attend(query, p, 1);
      std::vector<float> expected(width);
      reference::attention(shape, query.data(), cache.keys.data(), cache.values.data(), p + 1,
                           expected.data());
      for (std::size_t i = 0; i < width; ++i) {
        ASSERT_NEAR(out[i], expected[i], 2e-5f)
            << "head_dim " << shape.head_dim << " window " << shape.window << " position " << p;
      }
    }
  }
}

TEST(Attention, AQueryAloneEqualsTheSameQueryInAnyChunkBitForBit) {
  for (const AttentionShape& shape : shapes()) {
    const std::size_t positions = 290, width = shape.heads * shape.head_dim;
    const Cache cache(shape, positions);
    const auto queries = random_floats(53, positions * width, 3.0f);
    const auto whole = cache.attend(queries, 0, positions);
    for (const std::size_t chunk : {1, 7, 32, 128}) {
      for (std::size_t p = 0; p < positions; p += chunk) {
        const std::size_t count = std::min(chunk, positions - p);
        const std::vector<float> some(queries.begin() + static_cast<std::ptrdiff_t>(p * width),
                                      queries.begin() +
                                          static_cast<std::ptrdiff_t>((p + count) * width));
        const auto out = cache.attend(some, p, count);
        ASSERT_EQ(std::memcmp(out.data(), &whole[p * width], out.size() * sizeof(float)), 0)
            << "chunk " << chunk << " at " << p << " head_dim " << shape.head_dim << " window "
            << shape.window;
      }
    }
  }
}

TEST(Attention, EveryInstructionSetGivesTheSameBits) {
  for (const AttentionShape& shape : shapes()) {
    const std::size_t positions = 150, width = shape.heads * shape.head_dim;
    const auto queries = random_floats(59, positions * width, 3.0f);
    std::vector<float> expected;
    for (const NamedTable& named : runnable_tables()) {
      const UseTable scope(named);
      const auto out = Cache(shape, positions).attend(queries, 0, positions);
      expected = expected.empty() ? out : expected;
      EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0)
          << named.name << " head_dim " << shape.head_dim << " window " << shape.window;
    }
  }
}

TEST(Attention, WherePositionsLieInThePoolDoesNotMatter) {
  const AttentionShape shape{9, 3, 64, 0, 0.125f};
  const Cache scattered(shape, 100);
  Cache straight = scattered;
  const std::size_t block = kv_block_bytes(shape);
  std::fill(straight.pool.begin(), straight.pool.end(), std::byte{0x7F});
  for (std::size_t b = 0; b < straight.blocks.size(); ++b) {
    std::copy_n(scattered.pool.begin() + static_cast<std::ptrdiff_t>(scattered.blocks[b] * block),
                block, straight.pool.begin() + static_cast<std::ptrdiff_t>(b * block));
    straight.blocks[b] = static_cast<std::uint32_t>(b);
  }
  const auto query = random_floats(61, 9 * 64);
  EXPECT_EQ(scattered.attend(query, 99, 1), straight.attend(query, 99, 1));
}

TEST(Attention, HugeScoresStayFinite) {
  const AttentionShape shape{2, 1, 64, 0, 0.125f};
  const Cache cache(shape, 200);
  const auto query = random_floats(67, 2 * 64, 1e6f);
  for (const float x : cache.attend(query, 199, 1)) {
    EXPECT_TRUE(std::isfinite(x));
  }
}

TEST(Attention, StoringClampsToTheLargestHalf) {
  const AttentionShape shape{1, 1, 16, 0, 1.0f};
  std::vector<std::byte> pool(kv_block_bytes(shape));
  const std::vector<float> large(16, 1e9f), small(16, -1e9f);
  store_kv(shape, pool.data(), 0, 5, large.data(), small.data());
  EXPECT_EQ(half_to_float(Cache::word(&pool[2 * 5])), 65504.0f);
  EXPECT_EQ(half_to_float(Cache::word(&pool[2 * (16 * 16 + 5 * 16)])), -65504.0f);
}

TEST(Attention, AnElementIsStoredAsNearAsItsTypeAllows) {
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kQ8_0}) {
    const AttentionShape shape{2, 2, 80, 0, 0.1f, type};
    const Cache cache(shape, 20);
    const auto keys = random_floats(41, 20 * 160, 2.0f);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      // half a unit in the last place of 11 or 8 bits; half of the largest / 127, and the f16 scale's
      const float bound = type == KvType::kF16    ? std::fabs(keys[i]) * 0x1p-11f + 1e-7f
                          : type == KvType::kBF16 ? std::fabs(keys[i]) * 0x1p-8f
                                                  : 2.0f / 127.0f * 0.57f;
      ASSERT_NEAR(cache.keys[i], keys[i], bound) << kv_type_name(type) << " " << i;
    }
  }
}

TEST(Attention, ZerosAndHugeNumbersAreStoredFinitely) {
  const AttentionShape shape{1, 1, 32, 0, 1.0f, KvType::kQ8_0};
  for (const float size : {0.0f, 1e-12f, 3e38f}) {
    std::vector<std::byte> pool(kv_block_bytes(shape));
    const std::vector<float> values(32, size);
    store_kv(shape, pool.data(), 0, 0, values.data(), values.data());
    const std::vector<float> query(32, 1e-3f);
    std::vector<float> out(32, NAN);
    const std::uint32_t block = 0;
    attention(shape, pool.data(), {query.data(), 32, out.data(), 32, &block, 0, 1}, 0);
    for (const float x : out) {
      EXPECT_TRUE(std::isfinite(x)) << size;
    }
  }
}

TEST(Attention, PartsMergedAreTheWholeBitForBit) {
  for (const std::size_t window : {std::size_t{0}, std::size_t{700}}) {
    for (const KvType type : {KvType::kF16, KvType::kQ8_0}) {
      const AttentionShape shape{6, 2, 64, window, 0.125f, type};
      const std::size_t positions = 2600, width = 6 * 64;
      const Cache cache(shape, positions);
      for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{2599, 1}, {1020, 16}, {2040, 17}}) {
        const auto queries = random_floats(71, count * width, 3.0f);
        const auto whole = cache.attend(queries, first, count);
        std::vector<float> out(count * width, NAN);
        const AttentionQueries call{queries.data(), width, out.data(), width, cache.blocks.data(), first, count};
        const std::size_t parts = attention_parts(first + count - 1);
        std::vector<float> results(parts * attention_part_floats(shape, count), NAN);
        for (std::size_t head = 0; head < 2; ++head) {
          for (std::size_t part = parts; part-- > 0;) {  // in any order
            attention_part(shape, cache.pool.data(), call, head, part, results.data());
          }
          attention_merge(shape, call, head, parts, results.data());
        }
        EXPECT_EQ(std::memcmp(out.data(), whole.data(), out.size() * sizeof(float)), 0)
            << "window " << window << " from " << first;
      }
    }
  }
}

TEST(Attention, LongContextsEqualTheReference) {
  const AttentionShape shape{3, 1, 64, 0, 0.125f};
  const std::size_t positions = 2300;
  const Cache cache(shape, positions);
  const auto query = random_floats(73, 3 * 64, 3.0f);
  const auto out = cache.attend(query, positions - 1, 1);
  std::vector<float> expected(3 * 64);
  reference::attention(shape, query.data(), cache.keys.data(), cache.values.data(), positions,
                       expected.data());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(out[i], expected[i], 2e-5f);
  }
}

TEST(Attention, EveryTypeOfCacheHasANameThatIsReadBack) {
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kQ8_0}) {
    EXPECT_EQ(parse_kv_type(kv_type_name(type)), type);
  }
  EXPECT_FALSE(parse_kv_type("q4_0"));
}

TEST(Attention, SaysWhichShapesItCannotRun) {
  EXPECT_TRUE(is_supported({9, 3, 64, 0, 1.0f}));
  EXPECT_FALSE(is_supported({9, 2, 64, 0, 1.0f}));
  EXPECT_FALSE(is_supported({9, 3, 60, 0, 1.0f}));
  EXPECT_FALSE(is_supported({9, 3, 512, 0, 1.0f}));
  EXPECT_FALSE(is_supported({9, 0, 64, 0, 1.0f}));
}

}  // namespace
}  // namespace paternoster::kernels
