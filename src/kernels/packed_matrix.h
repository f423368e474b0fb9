// A weight matrix in kernel format: out[row] = sum over cols of w[row][col] * in[col].
//
// Rows are kept in tiles of 16, inputs in blocks of 32 (docs/kernels.md draws the bytes). Every
// quantised GGUF type becomes w = d * (u - zero) + m with u an unsigned 4- or 8-bit integer; d and m
// keep the file's own precision (f16, or a 6- to 8-bit factor of an f16), so packing loses nothing.
// F32, F16 and BF16 matrices keep their elements. Rows are padded with zeros to a whole tile.
//
// Packing may run in parallel: create once, then pack_tiles over disjoint ranges. After that the
// matrix is read-only and any number of threads may multiply with it.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "kernels/aligned_buffer.h"
#include "kernels/tensor_type.h"

namespace paternoster::kernels {

inline constexpr std::size_t kTileRows = 16;   // output rows that are computed together
inline constexpr std::size_t kBlockCols = 32;  // inputs that share one activation scale

class PackedMatrix {
 public:
  PackedMatrix() = default;

  // Without memory yet; fails on an unknown type, on empty or unreasonable sizes and on cols that are no
  // multiple of the type's block. Give it memory by place() before anything else.
  static Result<PackedMatrix> describe(TensorType type, std::size_t rows, std::size_t cols);

  // describe, with memory of its own.
  static Result<PackedMatrix> create(TensorType type, std::size_t rows, std::size_t cols);

  // Where its bytes() are: zeroed, at a multiple of 64, outliving the matrix. Many matrices in one buffer
  // read better than many buffers, whose small pages stop the processor from fetching ahead.
  void place(std::byte* memory) noexcept { data_ = memory; }

  // create and pack_tiles of everything, from the tensor's bytes as they stand in the file.
  static Result<PackedMatrix> pack(TensorType type, std::size_t rows, std::size_t cols,
                                   std::span<const std::byte> bytes);

  // Repacks rows [16 * begin, 16 * end). bytes is the whole tensor: rows * row_bytes(type, cols).
  void pack_tiles(std::span<const std::byte> bytes, std::size_t begin, std::size_t end);

  TensorType type() const noexcept { return type_; }
  std::size_t rows() const noexcept { return rows_; }
  std::size_t cols() const noexcept { return cols_; }
  std::size_t tiles() const noexcept { return (rows_ + kTileRows - 1) / kTileRows; }
  std::size_t tile_bytes() const noexcept { return tile_bytes_; }
  std::size_t bytes() const noexcept { return tiles() * tile_bytes_; }
  bool empty() const noexcept { return rows_ == 0; }
  const std::byte* tile(std::size_t index) const noexcept {
    return data_ + index * tile_bytes_;
  }

 private:
  TensorType type_ = TensorType::kF32;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::size_t tile_bytes_ = 0;
  AlignedBuffer buffer_;  // empty when the memory is somebody else's
  std::byte* data_ = nullptr;
};

// One row as floats: an embedding looked up in a packed matrix. row < matrix.rows().
void dequantise_row(const PackedMatrix& matrix, std::size_t row, float* out);

}  // namespace paternoster::kernels
