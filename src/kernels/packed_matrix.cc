#include "kernels/packed_matrix.h"

#include <cstring>
#include <string>

#include "base/check.h"
#include "kernels/formats.h"
#include "kernels/half.h"
#include "kernels/unpack.h"

namespace paternoster::kernels {
namespace {

constexpr std::size_t kMostElements = std::size_t{1} << 40;  // far beyond any real matrix

std::uint8_t* bytes_of(std::byte* data) { return reinterpret_cast<std::uint8_t*>(data); }

void store_u16(std::uint8_t* out, std::uint16_t value) { std::memcpy(out, &value, 2); }

// Places one row's 32 inputs into its block of the tile: 4 bytes a group (formats.h).
void place_quants(const FormatInfo& format, const std::uint8_t* u, std::size_t lane,
                  std::uint8_t* block) {
  for (std::size_t group = 0; group < 8; ++group) {
    std::uint32_t four;
    std::memcpy(&four, u + 4 * group, 4);
    if (format.nibbles) {
      std::uint8_t* out = block + group / 2 * 64 + lane * 4;
      std::uint32_t packed;
      std::memcpy(&packed, out, 4);
      packed |= group % 2 == 0 ? four : four << 4;
      std::memcpy(out, &packed, 4);
    } else {
      std::memcpy(block + group * 64 + lane * 4, &four, 4);
    }
  }
}

void place_scales(const FormatInfo& format, const UnpackedBlock& unpacked, std::size_t lane,
                  std::uint8_t* block) {
  std::uint8_t* d = block + format.quant_bytes;
  std::uint8_t* m = d + format.sets * format.set_bytes;
  if (!format.super) {
    store_u16(d + 2 * lane, unpacked.half_d);
    if (format.minimum) {
      store_u16(m + 2 * lane, unpacked.half_m);
    }
    return;
  }
  for (std::size_t set = 0; set < format.sets; ++set) {
    d[set * 16 + lane] = static_cast<std::uint8_t>(unpacked.factor_d[set]);
    if (format.minimum) {
      m[set * 16 + lane] = static_cast<std::uint8_t>(unpacked.factor_m[set]);
    }
  }
}

void pack_quantised_row(TensorType type, const FormatInfo& format, const std::uint8_t* row,
                        std::size_t cols, std::size_t lane, std::uint8_t* tile) {
  if (format.super) {
    for (std::size_t super = 0; super < cols / 256; ++super) {
      const UnpackedSuper unpacked = unpack_super(type, row, super);
      std::uint8_t* out = tile + super * format.super_bytes;
      store_u16(out + 2 * lane, unpacked.half_d);
      if (format.minimum) {
        store_u16(out + 32 + 2 * lane, unpacked.half_m);
      }
    }
  }
  std::uint8_t* block = tile + format.supers_bytes(cols);
  for (std::size_t b = 0; b < cols / 32; ++b, block += format.block_bytes) {
    const UnpackedBlock unpacked = unpack_block(type, row, b);
    place_quants(format, unpacked.u, lane, block);
    place_scales(format, unpacked, lane, block);
  }
}

// Float tiles are [col][16 rows].
void pack_float_row(const std::uint8_t* row, std::size_t element, std::size_t cols,
                    std::size_t lane, std::uint8_t* tile) {
  for (std::size_t col = 0; col < cols; ++col) {
    std::memcpy(tile + (col * kTileRows + lane) * element, row + col * element, element);
  }
}

float float_element(TensorType type, const std::uint8_t* bytes) {
  if (type == TensorType::kF32) {
    float value;
    std::memcpy(&value, bytes, 4);
    return value;
  }
  std::uint16_t half;
  std::memcpy(&half, bytes, 2);
  return type == TensorType::kF16 ? half_to_float(half) : bfloat16_to_float(half);
}

float half_at(const std::uint8_t* bytes) {
  std::uint16_t half;
  std::memcpy(&half, bytes, 2);
  return half_to_float(half);
}

// d (offset 0) or m of one set of a block for one row.
float scale_of(const FormatInfo& format, const std::uint8_t* scales, const std::uint8_t* super,
               std::size_t set, std::size_t lane) {
  if (!format.super) {
    return half_at(scales + 2 * lane);
  }
  return half_at(super + 2 * lane) *
         static_cast<float>(static_cast<std::int8_t>(scales[set * 16 + lane]));
}

void dequantise_block(const FormatInfo& format, const std::uint8_t* block, const std::uint8_t* super,
                      std::size_t lane, float* out) {
  const std::uint8_t* scales = block + format.quant_bytes;
  const std::uint8_t* minima = scales + format.sets * format.set_bytes;
  for (std::size_t set = 0; set < format.sets; ++set) {
    const float d = scale_of(format, scales, super, set, lane);
    const float m = format.minimum ? scale_of(format, minima, super + 32, set, lane) : 0.0f;
    const std::size_t inputs = 32 / format.sets;
    for (std::size_t i = set * inputs; i < (set + 1) * inputs; ++i) {
      const std::size_t group = i / 4;
      const std::size_t at = lane * 4 + i % 4;
      const int u = !format.nibbles ? block[group * 64 + at]
                    : group % 2 == 0 ? block[group / 2 * 64 + at] & 15
                                     : block[group / 2 * 64 + at] >> 4;
      out[i] = d * static_cast<float>(u - format.zero) + m;
    }
  }
}

}  // namespace

Result<PackedMatrix> PackedMatrix::create(TensorType type, std::size_t rows, std::size_t cols) {
  auto matrix = describe(type, rows, cols);
  if (matrix) {
    matrix->buffer_ = AlignedBuffer(matrix->bytes());
    matrix->place(matrix->buffer_.data());
  }
  return matrix;
}

Result<PackedMatrix> PackedMatrix::describe(TensorType type, std::size_t rows, std::size_t cols) {
  const BlockSize block = block_size(type);
  if (block.elements == 0) {
    return failure(ErrorCode::kUnsupported, "tensor type " +
                                                std::to_string(static_cast<std::uint32_t>(type)) +
                                                " cannot be multiplied");
  }
  if (rows == 0 || cols == 0 || rows > kMostElements || cols > kMostElements / rows) {
    return failure(ErrorCode::kInvalidArgument, "a matrix of " + std::to_string(rows) + " x " +
                                                    std::to_string(cols) + " cannot be packed");
  }
  if (cols % block.elements != 0) {
    return failure(ErrorCode::kInvalidArgument,
                   std::string(type_name(type)) + " rows hold multiples of " +
                       std::to_string(block.elements) + " inputs, not " + std::to_string(cols));
  }
  PackedMatrix matrix;
  matrix.type_ = type;
  matrix.rows_ = rows;
  matrix.cols_ = cols;
  matrix.tile_bytes_ = is_quantised(type) ? format_info(type).tile_bytes(cols)
                                          : (cols * kTileRows * block.bytes + 63) / 64 * 64;
  return matrix;
}

Result<PackedMatrix> PackedMatrix::pack(TensorType type, std::size_t rows, std::size_t cols,
                                        std::span<const std::byte> bytes) {
  auto matrix = create(type, rows, cols);
  if (!matrix) {
    return matrix;
  }
  const std::size_t expected = rows * row_bytes(type, cols);
  if (bytes.size() != expected) {
    return failure(ErrorCode::kInvalidArgument, "a matrix takes " + std::to_string(expected) +
                                                    " bytes, not " + std::to_string(bytes.size()));
  }
  matrix->pack_tiles(bytes, 0, matrix->tiles());
  return matrix;
}

void PackedMatrix::pack_tiles(std::span<const std::byte> bytes, std::size_t begin, std::size_t end) {
  const std::size_t stride = row_bytes(type_, cols_);
  PATERNOSTER_CHECK(bytes.size() == rows_ * stride && begin <= end && end <= tiles());
  const bool quantised = is_quantised(type_);
  const FormatInfo format = quantised ? format_info(type_) : FormatInfo{};
  for (std::size_t row = begin * kTileRows; row < end * kTileRows && row < rows_; ++row) {
    const auto* source = reinterpret_cast<const std::uint8_t*>(bytes.data()) + row * stride;
    std::uint8_t* tile = bytes_of(data_) + row / kTileRows * tile_bytes_;
    if (quantised) {
      pack_quantised_row(type_, format, source, cols_, row % kTileRows, tile);
    } else {
      pack_float_row(source, block_size(type_).bytes, cols_, row % kTileRows, tile);
    }
  }
}

void dequantise_row(const PackedMatrix& matrix, std::size_t row, float* out) {
  PATERNOSTER_CHECK(row < matrix.rows());
  const auto* tile = reinterpret_cast<const std::uint8_t*>(matrix.tile(row / kTileRows));
  const std::size_t lane = row % kTileRows;
  if (!is_quantised(matrix.type())) {
    const std::size_t element = block_size(matrix.type()).bytes;
    for (std::size_t col = 0; col < matrix.cols(); ++col) {
      out[col] = float_element(matrix.type(), tile + (col * kTileRows + lane) * element);
    }
    return;
  }
  const FormatInfo format = format_info(matrix.type());
  const std::uint8_t* blocks = tile + format.supers_bytes(matrix.cols());
  for (std::size_t b = 0; b < matrix.cols() / 32; ++b) {
    dequantise_block(format, blocks + b * format.block_bytes, tile + b / 8 * format.super_bytes,
                     lane, out + 32 * b);
  }
}

}  // namespace paternoster::kernels
