#include "kernels/elementwise.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/kernel_table.h"

namespace paternoster::kernels {

void rms_norm(const float* in, const float* weight, float epsilon, std::size_t count, float* out) {
  kernels().rms_norm(in, weight, epsilon, count, out);
}

void rms_norm_quantise(const float* in, const float* weight, float epsilon,
                       Activations& activations, std::size_t row) {
  PATERNOSTER_CHECK(row < activations.rows());
  kernels().rms_norm(in, weight, epsilon, activations.cols(), activations.values(row));
  quantise(activations, row, row + 1);
}

void add(const float* in, std::size_t count, float* out) { kernels().add(in, count, out); }

void scale(float factor, std::size_t count, float* values) {
  kernels().scale(factor, count, values);
}

void gated_product(Gate gate, const float* gates, const float* ups, std::size_t count, float* out) {
  switch (gate) {
    case Gate::kSilu: kernels().silu_product(gates, ups, count, out); break;
    case Gate::kGeluTanh: kernels().gelu_product(gates, ups, count, out); break;
  }
}

void gated_product_quantise(Gate gate, const float* gates, const float* ups, Activations& activations,
                            std::size_t row, std::size_t begin, std::size_t end) {
  PATERNOSTER_CHECK(row < activations.rows() && begin <= end && end <= activations.blocks());
  const std::size_t first = 32 * begin;
  const std::size_t last = std::min(32 * end, activations.cols());
  float* values = activations.values(row);
  gated_product(gate, gates + first, ups + first, last - std::min(first, last), values + first);
  std::fill(values + last, values + 32 * end, 0.0f);  // padding, behind the last column
  kernels().quantise_row(values + first, end - begin, activations.quants(row) + first,
                         activations.wides(row) + first, activations.infos(row) + begin);
}

}  // namespace paternoster::kernels
