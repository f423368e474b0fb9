#include "model/tensor_type.h"

#include <array>

#include "base/check.h"

namespace paternoster::model {
namespace {

constexpr std::array kTypes = {
    TensorTypeTraits{TensorType::kF32, "F32", 1, 4},
    TensorTypeTraits{TensorType::kF16, "F16", 1, 2},
    TensorTypeTraits{TensorType::kQ4_0, "Q4_0", 32, 18},
    TensorTypeTraits{TensorType::kQ4_1, "Q4_1", 32, 20},
    TensorTypeTraits{TensorType::kQ5_0, "Q5_0", 32, 22},
    TensorTypeTraits{TensorType::kQ5_1, "Q5_1", 32, 24},
    TensorTypeTraits{TensorType::kQ8_0, "Q8_0", 32, 34},
    TensorTypeTraits{TensorType::kQ2_K, "Q2_K", 256, 84},
    TensorTypeTraits{TensorType::kQ3_K, "Q3_K", 256, 110},
    TensorTypeTraits{TensorType::kQ4_K, "Q4_K", 256, 144},
    TensorTypeTraits{TensorType::kQ5_K, "Q5_K", 256, 176},
    TensorTypeTraits{TensorType::kQ6_K, "Q6_K", 256, 210},
    TensorTypeTraits{TensorType::kBF16, "BF16", 1, 2},
};

// By GGUF number; the gaps are numbers that were withdrawn.
constexpr std::array<std::string_view, 40> kGgufNames = {
    "F32",     "F16",    "Q4_0",    "Q4_1",  "unknown", "unknown", "Q5_0",    "Q5_1",
    "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",    "Q5_K",    "Q6_K",    "Q8_K",
    "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL",  "IQ3_S",   "IQ2_S",   "IQ4_XS",
    "I8",      "I16",    "I32",     "I64",   "F64",     "IQ1_M",   "BF16",    "unknown",
    "unknown", "unknown", "TQ1_0",  "TQ2_0", "unknown", "unknown", "unknown", "MXFP4",
};

}  // namespace

std::span<const TensorTypeTraits> tensor_types() noexcept { return kTypes; }

const TensorTypeTraits& traits(TensorType type) noexcept {
  for (const TensorTypeTraits& one : kTypes) {
    if (one.type == type) return one;
  }
  check_failed("a supported tensor type", __FILE__, __LINE__);
}

std::optional<TensorType> tensor_type_of(std::uint32_t gguf_number) noexcept {
  for (const TensorTypeTraits& one : kTypes) {
    if (static_cast<std::uint32_t>(one.type) == gguf_number) return one.type;
  }
  return std::nullopt;
}

std::string_view gguf_type_name(std::uint32_t gguf_number) noexcept {
  return gguf_number < kGgufNames.size() ? kGgufNames[gguf_number] : "unknown";
}

std::uint64_t bytes_of(TensorType type, std::uint64_t elements) noexcept {
  const TensorTypeTraits& packing = traits(type);
  return elements / packing.block_elements * packing.block_bytes;
}

}  // namespace paternoster::model
