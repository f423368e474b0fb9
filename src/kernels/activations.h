// A batch of input vectors, one row a token: as floats, and as what the integer kernels multiply:
// int8 in -127..127 with one scale per 32 inputs and their integer sums, computed once a token. The same
// integers are kept as int16 too, for instruction sets that multiply 8-bit weights in 16 bits.
//
// Write the floats through values(row), then call quantise (or let rms_norm_quantise do both). Rows
// are independent: threads may fill and quantise disjoint rows at once. cols that are no multiple of
// 32 are padded with zeros. A row must be finite.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/activation_block.h"
#include "kernels/aligned_buffer.h"

namespace paternoster::kernels {

class Activations {
 public:
  // Makes room for rows x cols; the contents are undefined afterwards. Never shrinks its memory.
  void resize(std::size_t rows, std::size_t cols);

  std::size_t rows() const noexcept { return rows_; }
  std::size_t cols() const noexcept { return cols_; }
  std::size_t padded_cols() const noexcept { return padded_; }  // the stride of values and quants
  std::size_t blocks() const noexcept { return padded_ / 32; }  // the stride of block infos

  float* values(std::size_t row) noexcept { return values_.as<float>() + row * padded_; }
  const float* values(std::size_t row) const noexcept {
    return values_.as<float>() + row * padded_;
  }
  std::int8_t* quants(std::size_t row) noexcept {
    return quants_.as<std::int8_t>() + row * padded_;
  }
  const std::int8_t* quants(std::size_t row) const noexcept {
    return quants_.as<std::int8_t>() + row * padded_;
  }
  // Of every four, the first, third, second, fourth: so that 32 bits are what meets the even or the odd
  // bytes of a group of weights.
  std::int16_t* wides(std::size_t row) noexcept {
    return wides_.as<std::int16_t>() + row * padded_;
  }
  const std::int16_t* wides(std::size_t row) const noexcept {
    return wides_.as<std::int16_t>() + row * padded_;
  }
  ActivationBlock* infos(std::size_t row) noexcept {
    return infos_.as<ActivationBlock>() + row * blocks();
  }
  const ActivationBlock* infos(std::size_t row) const noexcept {
    return infos_.as<ActivationBlock>() + row * blocks();
  }

 private:
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::size_t padded_ = 0;
  AlignedBuffer values_;
  AlignedBuffer quants_;
  AlignedBuffer wides_;
  AlignedBuffer infos_;
};

// Quantises rows [begin, end) from their float values (which also stay, for float matrices).
void quantise(Activations& activations, std::size_t begin, std::size_t end);

}  // namespace paternoster::kernels
