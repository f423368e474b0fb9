#include "kernels/tensor_type.h"

#include "base/check.h"
#include "kernels/formats.h"

namespace paternoster::kernels {

BlockSize block_size(TensorType type) noexcept {
  switch (type) {
    case TensorType::kF32: return {1, 4};
    case TensorType::kF16: return {1, 2};
    case TensorType::kBF16: return {1, 2};
    case TensorType::kQ4_0: return {32, 18};
    case TensorType::kQ4_1: return {32, 20};
    case TensorType::kQ5_0: return {32, 22};
    case TensorType::kQ5_1: return {32, 24};
    case TensorType::kQ8_0: return {32, 34};
    case TensorType::kQ2_K: return {256, 84};
    case TensorType::kQ3_K: return {256, 110};
    case TensorType::kQ4_K: return {256, 144};
    case TensorType::kQ5_K: return {256, 176};
    case TensorType::kQ6_K: return {256, 210};
  }
  return {0, 0};
}

std::size_t row_bytes(TensorType type, std::size_t cols) noexcept {
  const BlockSize block = block_size(type);
  return block.elements == 0 || cols % block.elements != 0 ? 0 : cols / block.elements * block.bytes;
}

bool is_quantised(TensorType type) noexcept { return block_size(type).elements > 1; }

const char* type_name(TensorType type) noexcept {
  switch (type) {
    case TensorType::kF32: return "F32";
    case TensorType::kF16: return "F16";
    case TensorType::kBF16: return "BF16";
    case TensorType::kQ4_0: return "Q4_0";
    case TensorType::kQ4_1: return "Q4_1";
    case TensorType::kQ5_0: return "Q5_0";
    case TensorType::kQ5_1: return "Q5_1";
    case TensorType::kQ8_0: return "Q8_0";
    case TensorType::kQ2_K: return "Q2_K";
    case TensorType::kQ3_K: return "Q3_K";
    case TensorType::kQ4_K: return "Q4_K";
    case TensorType::kQ5_K: return "Q5_K";
    case TensorType::kQ6_K: return "Q6_K";
  }
  return "?";
}

namespace {

template <typename F>
constexpr FormatInfo info_of() {
  return {F::kZero,       F::kNibbles,  F::kSets,       F::kSuper,     F::kMinimum,
          F::kQuantBytes, F::kSetBytes, F::kBlockBytes, F::kSuperBytes};
}

}  // namespace

FormatInfo format_info(TensorType type) noexcept {
  switch (type) {
    case TensorType::kQ4_0: return info_of<FormatQ4_0>();
    case TensorType::kQ4_1: return info_of<FormatQ4_1>();
    case TensorType::kQ5_0: return info_of<FormatQ5_0>();
    case TensorType::kQ5_1: return info_of<FormatQ5_1>();
    case TensorType::kQ8_0: return info_of<FormatQ8_0>();
    case TensorType::kQ2_K: return info_of<FormatQ2_K>();
    case TensorType::kQ3_K: return info_of<FormatQ3_K>();
    case TensorType::kQ4_K: return info_of<FormatQ4_K>();
    case TensorType::kQ5_K: return info_of<FormatQ5_K>();
    case TensorType::kQ6_K: return info_of<FormatQ6_K>();
    default: PATERNOSTER_CHECK(false);
  }
  return {};
}

}  // namespace paternoster::kernels
