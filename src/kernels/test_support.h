// What the kernels' tests share: reproducible numbers, random GGUF blocks, every table that this
// machine can run. Tests only.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernels/half.h"
#include "kernels/isa.h"
#include "kernels/kernel_table.h"
#include "kernels/packed_matrix.h"

namespace paternoster::kernels {

inline constexpr TensorType kAllTypes[] = {
    TensorType::kF32,  TensorType::kF16,  TensorType::kBF16, TensorType::kQ4_0, TensorType::kQ4_1,
    TensorType::kQ5_0, TensorType::kQ5_1, TensorType::kQ8_0, TensorType::kQ2_K, TensorType::kQ3_K,
    TensorType::kQ4_K, TensorType::kQ5_K, TensorType::kQ6_K};

#ifdef __x86_64__
extern const KernelTable kEmulatedAvx512Table;  // emulated_tables_test.cc
extern const KernelTable kEmulatedAvxVnniTable;
#endif

struct NamedTable {
  std::string name;
  const KernelTable* table;
};

// Every table that can run here, emulated ones included; the portable one first.
inline std::vector<NamedTable> runnable_tables() {
  std::vector<NamedTable> tables = {{"scalar", &kScalarTable}};
#ifdef __x86_64__
  if (is_available(Isa::kAvx2)) {
    tables.push_back({"avx2", &kAvx2Table});
    tables.push_back({"emulated avx512vnni", &kEmulatedAvx512Table});
    tables.push_back({"emulated avxvnni", &kEmulatedAvxVnniTable});
  }
  if (is_available(Isa::kAvxVnni)) {
    tables.push_back({"avxvnni", &kAvxVnniTable});
  }
  if (is_available(Isa::kAvx512Vnni)) {
    tables.push_back({"avx512vnni", &kAvx512VnniTable});
  }
#endif
  return tables;
}

// Runs the rest of the scope on one table.
class UseTable {
 public:
  explicit UseTable(const NamedTable& named) { use_table(*named.table); }
  ~UseTable() { use_isa(active_isa()); }
  UseTable(const UseTable&) = delete;
  UseTable& operator=(const UseTable&) = delete;
};

// Numbers in [-1, 1) that depend on the seed and the index alone.
inline std::vector<float> random_floats(std::uint64_t seed, std::size_t count, float factor = 1.0f) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = static_cast<double>(random_u64(seed, 1, i) >> 11);
    out[i] = static_cast<float>(bits * 0x1p-52 - 1.0) * factor;
  }
  return out;
}

// Where a block of a type keeps its f16 scales, so that random bytes become reasonable numbers.
inline std::vector<std::size_t> half_offsets(TensorType type) {
  switch (type) {
    case TensorType::kQ4_1:
    case TensorType::kQ5_1:
    case TensorType::kQ4_K:
    case TensorType::kQ5_K: return {0, 2};
    case TensorType::kQ2_K: return {80, 82};
    case TensorType::kQ3_K: return {108};
    case TensorType::kQ6_K: return {208};
    default: return {0};
  }
}

// A tensor's bytes with random quants and scales of the given size (its sign random too).
inline std::vector<std::byte> random_tensor(TensorType type, std::size_t rows, std::size_t cols,
                                            std::uint64_t seed, float size = 0.01f) {
  std::vector<std::byte> bytes(rows * row_bytes(type, cols));
  if (!is_quantised(type)) {
    const auto values = random_floats(seed, rows * cols);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint16_t half = float_to_half(values[i]);
      std::uint32_t bits;
      std::memcpy(&bits, &values[i], 4);
      const auto brain = static_cast<std::uint16_t>(bits >> 16);
      if (type == TensorType::kF32) {
        std::memcpy(&bytes[4 * i], &bits, 4);
      } else {
        std::memcpy(&bytes[2 * i], type == TensorType::kF16 ? &half : &brain, 2);
      }
    }
    return bytes;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(random_u64(seed, 2, i));
  }
  const BlockSize block = block_size(type);
  for (std::size_t i = 0; i < bytes.size(); i += block.bytes) {
    for (const std::size_t offset : half_offsets(type)) {
      const float scale = random_floats(seed + 3, 1, size)[0] + random_floats(seed + i, 1, size)[0];
      const std::uint16_t half = float_to_half(scale);
      std::memcpy(&bytes[i + offset], &half, 2);
    }
  }
  return bytes;
}

}  // namespace paternoster::kernels
