// The linear layers: outputs for a range of tokens and a range of row tiles of one matrix.
//
// Bits: an output depends on its weights' row and its token's activations alone. The order of the
// sum is fixed (docs/kernels.md): integers inside a block of 32, then one chain of fused multiply-
// adds over the blocks from first to last; so the batch, the ranges, the thread that computes and
// the instruction set cannot change a bit.
//
// Threads: none here. Disjoint (token, tile) ranges may run at once; the caller splits the work.
#pragma once

#include <cstddef>

#include "kernels/activations.h"
#include "kernels/packed_matrix.h"

namespace paternoster::kernels {

// A half-open range [begin, end).
struct Range {
  std::size_t begin;
  std::size_t end;
};

enum class Store {
  kAssign,  // out = result
  kAdd,     // out = out + result, one rounding: a residual connection
};

// out[token * out_stride + row] for token in tokens and row in [16 * tiles.begin, 16 * tiles.end),
// never at or beyond weights.rows(). The activations must be quantised when is_quantised(type), and
// activations.cols() == weights.cols().
void matmul(const PackedMatrix& weights, const Activations& activations, Range tokens, Range tiles,
            float* out, std::size_t out_stride, Store store = Store::kAssign);

}  // namespace paternoster::kernels
