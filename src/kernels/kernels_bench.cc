// How fast the kernels are on one thread: kernels_bench [--benchmark_filter=...]. PATERNOSTER_ISA
// chooses the instruction set. Counters: ops (multiplies and adds), bytes of weights or of cache read.
// read_loop is the memory's own speed, to compare bytes with; peak the best that integer dot products
// in registers reach, to compare ops with.
#include <benchmark/benchmark.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/isa.h"
#include "kernels/matmul.h"
#include "kernels/vocabulary.h"

namespace paternoster::kernels {
namespace {

std::vector<std::byte> some_tensor(TensorType type, std::size_t rows, std::size_t cols) {
  std::vector<std::byte> bytes(rows * row_bytes(type, cols));
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    // the top bit pair of every byte cleared: whatever is read as f16 is small and finite
    const std::uint64_t word = random_u64(1, 1, i) & 0x3F3F3F3F3F3F3F3Fu;
    std::memcpy(&bytes[i], &word, 8);
  }
  return bytes;
}

// Matrices are packed once and kept: several copies of small ones, so that decoding reads memory.
const std::vector<PackedMatrix>& matrices(TensorType type, std::size_t rows, std::size_t cols) {
  static std::map<std::tuple<TensorType, std::size_t, std::size_t>, std::vector<PackedMatrix>> kept;
  auto& entry = kept[{type, rows, cols}];
  if (entry.empty()) {
    const auto bytes = some_tensor(type, rows, cols);
    const std::size_t copies = 1 + (std::size_t{64} << 20) / bytes.size();
    for (std::size_t i = 0; i < copies; ++i) {
      entry.push_back(std::move(*PackedMatrix::pack(type, rows, cols, bytes)));
    }
  }
  return entry;
}

void matmul_bench(benchmark::State& state, TensorType type, std::size_t cols, std::size_t rows) {
  const auto tokens = static_cast<std::size_t>(state.range(0));
  const auto& weights = matrices(type, rows, cols);
  Activations in;
  in.resize(tokens, cols);
  for (std::size_t t = 0; t < tokens; ++t) {
    for (std::size_t i = 0; i < cols; ++i) {
      in.values(t)[i] = static_cast<float>(random_u64(2, t, i) % 1000) * 0.01f - 5.0f;
    }
  }
  quantise(in, 0, tokens);
  std::vector<float> out(tokens * rows);
  std::size_t next = 0;
  for (auto _ : state) {
    const PackedMatrix& w = weights[next];
    matmul(w, in, {0, tokens}, {0, w.tiles()}, out.data(), rows);
    benchmark::ClobberMemory();
    next = next + 1 == weights.size() ? 0 : next + 1;
  }
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["ops"] = {2.0 * static_cast<double>(tokens * rows * cols), rate};
  state.counters["bytes"] = {static_cast<double>(weights[0].bytes()), rate};
}

void attention_bench(benchmark::State& state, AttentionShape shape, std::size_t queries) {
  const auto context = static_cast<std::size_t>(state.range(0));
  const std::size_t width = shape.heads * shape.head_dim;
  // small f16 and bf16 numbers; bytes and scales of q8_0
  std::vector<std::uint16_t> pool(kv_block_bytes(shape) / 2 * (context / 16 + 1), 0x3400);
  std::vector<std::uint32_t> blocks(context / 16 + 1);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    blocks[b] = static_cast<std::uint32_t>(b);
  }
  const std::vector<float> in(queries * width, 0.1f);
  std::vector<float> out(queries * width);
  for (auto _ : state) {
    const AttentionQueries call{in.data(),     width, out.data(), width, blocks.data(),
                                context - queries, queries};
    for (std::size_t h = 0; h < shape.kv_heads; ++h) {
      attention(shape, reinterpret_cast<const std::byte*>(pool.data()), call, h);
    }
    benchmark::ClobberMemory();
  }
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["ops"] = {4.0 * static_cast<double>(queries * context * width), rate};
  state.counters["bytes"] = {
      static_cast<double>(context / 16 * kv_block_bytes(shape)), rate};
}

// How fast memory can be read in order: 256 MiB, 32 bytes at a time, four chains of additions.
#ifdef __x86_64__
__attribute__((target("avx2"))) std::uint64_t read_all(const std::vector<std::uint64_t>& memory) {
  __m256i sums[4] = {};
  for (std::size_t i = 0; i < memory.size(); i += 16) {
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) {
      const auto* at = reinterpret_cast<const __m256i*>(&memory[i + 4 * j]);
      sums[j] = _mm256_add_epi64(sums[j], _mm256_loadu_si256(at));
    }
    __builtin_prefetch(&memory[i] + 128);
  }
  const __m256i total = _mm256_add_epi64(_mm256_add_epi64(sums[0], sums[1]), _mm256_add_epi64(sums[2], sums[3]));
  return static_cast<std::uint64_t>(_mm256_extract_epi64(total, 0));
}
#else
std::uint64_t read_all(const std::vector<std::uint64_t>& memory) {
  std::array<std::uint64_t, 8> sums{};
  for (std::size_t i = 0; i < memory.size(); i += 8) {
    for (std::size_t j = 0; j < 8; ++j) {
      sums[j] += memory[i + j];
    }
  }
  return sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
}
#endif

void read_loop(benchmark::State& state) {
  static const std::vector<std::uint64_t> memory(std::size_t{256} << 17, 1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(read_all(memory));
  }
  state.counters["bytes"] = {static_cast<double>(memory.size() * 8),
                             benchmark::Counter::kIsIterationInvariantRate};
}

// The best that the AVX2 way of multiplying bytes reaches: products and sums in registers alone.
#ifdef __x86_64__
// Eight independent chains, in one piece of assembly, so that no compiler's mood is measured.
#define PATERNOSTER_PRODUCT(chain, product)                       \
  "vpmaddubsw %%ymm15, %%ymm14, %%ymm" product "\n\t"             \
  "vpaddw %%ymm" product ", %%ymm" chain ", %%ymm" chain "\n\t"
void peak(benchmark::State& state) {
  for (auto _ : state) {
    for (int i = 0; i < 1000; ++i) {
      asm volatile(PATERNOSTER_PRODUCT("0", "8") PATERNOSTER_PRODUCT("1", "9") PATERNOSTER_PRODUCT("2", "10")
                       PATERNOSTER_PRODUCT("3", "11") PATERNOSTER_PRODUCT("4", "12")
                           PATERNOSTER_PRODUCT("5", "13") PATERNOSTER_PRODUCT("6", "8")
                               PATERNOSTER_PRODUCT("7", "9")
                   :
                   :
                   : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                     "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    }
  }
  state.counters["ops"] = {2.0 * 32 * 8 * 1000, benchmark::Counter::kIsIterationInvariantRate};
}
#undef PATERNOSTER_PRODUCT
#endif

void rows_bench(benchmark::State& state) {
  const std::vector<float> gates(1536, 0.3f), ups(1536, 0.5f), weight(576, 1.0f);
  Activations wide, narrow;
  wide.resize(1, 1536);
  narrow.resize(1, 576);
  for (auto _ : state) {
    rms_norm_quantise(gates.data(), weight.data(), 1e-5f, narrow, 0);
    gated_product_quantise(Gate::kSilu, gates.data(), ups.data(), wide, 0, 0, wide.blocks());
    benchmark::ClobberMemory();
  }
}

void argmax_bench(benchmark::State& state) {
  std::vector<float> logits(49152);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>(random_u64(3, 0, i) % 100000) * 1e-3f;
  }
  std::vector<ScoredToken> best;
  for (auto _ : state) {
    benchmark::DoNotOptimize(argmax(logits));
    top_k(logits, static_cast<std::size_t>(state.range(0)), best);
    benchmark::DoNotOptimize(log_sum_exp(logits));
  }
}

void register_all() {
  using Shape = std::pair<std::size_t, std::size_t>;  // inputs, outputs
  for (const TensorType type :
       {TensorType::kQ4_1, TensorType::kQ4_0, TensorType::kQ8_0, TensorType::kQ4_K,
        TensorType::kQ5_0, TensorType::kQ6_K, TensorType::kQ5_K, TensorType::kQ5_1,
        TensorType::kQ2_K, TensorType::kQ3_K, TensorType::kF16}) {
    for (const auto& [cols, rows] :
         {Shape{576, 576}, Shape{576, 1536}, Shape{1536, 576}, Shape{576, 49152}}) {
      if (row_bytes(type, cols) == 0) {
        continue;
      }
      const std::string name = std::string("matmul/") + type_name(type) + "/" +
                               std::to_string(cols) + "x" + std::to_string(rows);
      benchmark::RegisterBenchmark(name.c_str(), matmul_bench, type, cols, rows)
          ->Arg(1)->Arg(4)->Arg(8)->Arg(32)->Arg(128);
    }
  }
  const AttentionShape smollm{9, 3, 64, 0, 0.125f}, gemma{4, 1, 256, 0, 0.0625f};
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kQ8_0}) {
    AttentionShape typed = smollm;
    typed.type = type;
    const std::string name = std::string("attention/9x3x64/decode/") + kv_type_name(type);
    benchmark::RegisterBenchmark(name.c_str(), attention_bench, typed, 1)
        ->Arg(128)->Arg(1024)->Arg(8192);
  }
  benchmark::RegisterBenchmark("attention/9x3x64/prefill32", attention_bench, smollm, 32)
      ->Arg(128)->Arg(1024)->Arg(8192);
  benchmark::RegisterBenchmark("attention/4x1x256/decode", attention_bench, gemma, 1)
      ->Arg(128)->Arg(1024)->Arg(8192);
  benchmark::RegisterBenchmark("read_loop", read_loop);
#ifdef __x86_64__
  if (is_available(Isa::kAvx2)) {
    benchmark::RegisterBenchmark("peak", peak);
  }
#endif
  benchmark::RegisterBenchmark("rows/norm576_silu1536", rows_bench);
  benchmark::RegisterBenchmark("vocabulary/49152/top_k", argmax_bench)->Arg(20);
}

[[maybe_unused]] const bool registered = (register_all(), true);

}  // namespace
}  // namespace paternoster::kernels
