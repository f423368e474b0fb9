// What stands between the linear layers: norms, gates, sums. One row (token) a call; rows are
// independent, so any split over threads gives the same bits. In place is allowed everywhere.
#pragma once

#include <cstddef>

#include "kernels/activations.h"

namespace paternoster::kernels {

// out = in / sqrt(mean(in^2) + epsilon) * weight. Also for the norm per head of Gemma and Qwen 3.
void rms_norm(const float* in, const float* weight, float epsilon, std::size_t count, float* out);

// rms_norm of activations.cols() values into a row of the activations, quantised at once.
void rms_norm_quantise(const float* in, const float* weight, float epsilon,
                       Activations& activations, std::size_t row);

// out += in
void add(const float* in, std::size_t count, float* out);

// values *= factor
void scale(float factor, std::size_t count, float* values);

enum class Gate { kSilu, kGeluTanh };

// out = gate(gates) * ups
void gated_product(Gate gate, const float* gates, const float* ups, std::size_t count, float* out);

// gated_product of the columns of some blocks of 32, [32 * begin, 32 * end) as far as there are columns, into a
// row of the activations, quantised at once. `gates` and `ups` are those of the whole row.
void gated_product_quantise(Gate gate, const float* gates, const float* ups, Activations& activations,
                            std::size_t row, std::size_t begin, std::size_t end);

}  // namespace paternoster::kernels
