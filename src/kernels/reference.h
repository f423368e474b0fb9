// The oracle: obvious float32 (or double) loops over unpacked weights, with no blocking, no lanes and
// no quantised activations. Tests compare the kernels with it, and the engine's reference forward
// pass is made of it. Slow on purpose; nobody serves with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/packed_matrix.h"
#include "kernels/rope.h"

namespace paternoster::kernels::reference {

// out[row] = sum over cols of weights[row][col] * in[col], summed in double.
void matmul(const PackedMatrix& weights, const float* in, float* out);

void rms_norm(const float* in, const float* weight, float epsilon, std::size_t count, float* out);

void gated_product(Gate gate, const float* gates, const float* ups, std::size_t count, float* out);

void rope(RopePairs pairs, const RopeFrequencies& frequencies, std::size_t position,
          std::size_t dims, std::size_t heads, std::size_t head_dim, float* values);

// One query at position `count - 1` against keys and values [position][kv head][head_dim] as floats.
void attention(const AttentionShape& shape, const float* query, const float* keys,
               const float* values, std::size_t count, float* out);

float log_sum_exp(std::span<const float> logits);

}  // namespace paternoster::kernels::reference
