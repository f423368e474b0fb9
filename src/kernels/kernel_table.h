// One instruction set's kernels as plain functions over plain data. Private to this layer: the
// public headers check their arguments and call the active table.
//
// The files that define a table (isa_*.cc) are compiled with that instruction set's flags. Nothing
// they include may define an inline function or template outside their own namespace that could be
// emitted, or the linker might hand AVX code to a machine without it; a test looks at their symbols.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paternoster::kernels {

struct ActivationBlock;

struct MatmulCall {
  std::uint32_t type;  // TensorType
  const std::uint8_t* tiles;
  std::size_t tile_bytes;
  std::size_t rows;
  std::size_t cols;
  const float* values;
  const std::int8_t* quants;
  const std::int16_t* wides;
  const ActivationBlock* infos;
  std::size_t padded_cols;
  std::size_t token_begin;
  std::size_t token_end;
  std::size_t tile_begin;
  std::size_t tile_end;
  float* out;
  std::size_t out_stride;
  bool add;
};

struct AttentionCall {
  std::uint32_t type;  // KvType
  std::size_t heads;
  std::size_t kv_heads;
  std::size_t head_dim;
  std::size_t window;
  float scale;
  const std::uint8_t* pool;
  std::size_t half_bytes;  // of one head's keys, or values, in a block
  const float* queries;
  std::size_t query_stride;
  float* out;
  std::size_t out_stride;
  const std::uint32_t* blocks;
  std::size_t first_position;
  std::size_t count;
  std::size_t kv_head;
};

struct RopeCall {
  bool halves;
  const float* angles;
  std::size_t dims;
  std::size_t heads;
  std::size_t head_dim;
  float* values;
};

struct KernelTable {
  void (*matmul)(const MatmulCall& call);
  void (*quantise_row)(const float* values, std::size_t blocks, std::int8_t* quants,
                       std::int16_t* wides, ActivationBlock* infos);
  void (*attention)(const AttentionCall& call);
  void (*attention_part)(const AttentionCall& call, std::size_t part, float* results);
  void (*attention_merge)(const AttentionCall& call, std::size_t parts, const float* results);
  void (*quantise_kv)(const float* in, std::size_t count, std::int8_t* out, std::uint16_t* scales);
  void (*store_half)(const float* in, std::size_t count, std::uint16_t* out);  // count % 16 == 0
  void (*rms_norm)(const float* in, const float* weight, float epsilon, std::size_t count,
                   float* out);
  void (*add)(const float* in, std::size_t count, float* out);
  void (*scale)(float factor, std::size_t count, float* values);
  void (*silu_product)(const float* gates, const float* ups, std::size_t count, float* out);
  void (*gelu_product)(const float* gates, const float* ups, std::size_t count, float* out);
  void (*rope)(const RopeCall& call);
  float (*maximum)(const float* values, std::size_t count);
  std::size_t (*first_above)(const float* values, std::size_t count, float limit);
  float (*exponentials)(const float* values, std::size_t count, float largest, float factor,
                        float* out);
};

extern const KernelTable kScalarTable;
#ifdef __x86_64__
extern const KernelTable kAvx2Table;
extern const KernelTable kAvxVnniTable;
extern const KernelTable kAvx512VnniTable;
#endif

// The active one.
const KernelTable& kernels() noexcept;

// Makes any table the active one, emulated ones included; for tests (isa.h has use_isa).
void use_table(const KernelTable& table) noexcept;

}  // namespace paternoster::kernels
