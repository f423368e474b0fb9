#include "kernels/activations.h"

#include "base/check.h"
#include "kernels/kernel_table.h"

namespace paternoster::kernels {
namespace {

void reserve(AlignedBuffer& buffer, std::size_t bytes) {
  if (buffer.size() < bytes) {
    buffer = AlignedBuffer(bytes);
  }
}

}  // namespace

void Activations::resize(std::size_t rows, std::size_t cols) {
  rows_ = rows;
  cols_ = cols;
  padded_ = (cols + 31) / 32 * 32;
  reserve(values_, rows * padded_ * sizeof(float));
  reserve(quants_, rows * padded_);
  reserve(wides_, rows * padded_ * sizeof(std::int16_t));
  reserve(infos_, rows * blocks() * sizeof(ActivationBlock));
}

void quantise(Activations& activations, std::size_t begin, std::size_t end) {
  PATERNOSTER_CHECK(begin <= end && end <= activations.rows());
  for (std::size_t row = begin; row < end; ++row) {
    float* values = activations.values(row);
    for (std::size_t col = activations.cols(); col < activations.padded_cols(); ++col) {
      values[col] = 0.0f;
    }
    kernels().quantise_row(values, activations.blocks(), activations.quants(row),
                           activations.wides(row), activations.infos(row));
  }
}

}  // namespace paternoster::kernels
