// The typed getters of GgufFile: one packed value to the type its reader wants, or why not.
#include <cmath>
#include <limits>

#include "model/gguf.h"

namespace paternoster::model {
namespace {

std::unexpected<Error> wrong_type(const MetadataEntry& entry, std::string_view wanted) {
  std::string found(name(entry.type));
  if (entry.type == ValueType::kArray) found += " of " + std::string(name(entry.element));
  return failure(ErrorCode::kInvalidFile, "key " + quoted_name(entry.key) + ": is " + found +
                                              ", expected " + std::string(wanted));
}

std::unexpected<Error> out_of_range(const MetadataEntry& entry) {
  return failure(ErrorCode::kInvalidFile, "key " + quoted_name(entry.key) + ": value out of range");
}

template <typename T>
T read(const MetadataEntry& entry) {
  return PackedArray<T>(entry.payload)[0];
}

template <typename T>
std::optional<std::uint64_t> non_negative(const MetadataEntry& entry) {
  const T value = read<T>(entry);
  if constexpr (std::is_signed_v<T>) {
    if (value < 0) return std::nullopt;
  }
  return static_cast<std::uint64_t>(value);
}

Result<std::uint64_t> integer(const MetadataEntry& entry, std::uint64_t largest) {
  std::optional<std::uint64_t> value;
  switch (entry.type) {
    case ValueType::kUint8: value = non_negative<std::uint8_t>(entry); break;
    case ValueType::kInt8: value = non_negative<std::int8_t>(entry); break;
    case ValueType::kUint16: value = non_negative<std::uint16_t>(entry); break;
    case ValueType::kInt16: value = non_negative<std::int16_t>(entry); break;
    case ValueType::kUint32: value = non_negative<std::uint32_t>(entry); break;
    case ValueType::kInt32: value = non_negative<std::int32_t>(entry); break;
    case ValueType::kUint64: value = non_negative<std::uint64_t>(entry); break;
    case ValueType::kInt64: value = non_negative<std::int64_t>(entry); break;
    default: return wrong_type(entry, "an integer");
  }
  if (!value || *value > largest) return out_of_range(entry);
  return *value;
}

}  // namespace

std::string_view name(ValueType type) noexcept {
  switch (type) {
    case ValueType::kUint8: return "u8";
    case ValueType::kInt8: return "i8";
    case ValueType::kUint16: return "u16";
    case ValueType::kInt16: return "i16";
    case ValueType::kUint32: return "u32";
    case ValueType::kInt32: return "i32";
    case ValueType::kFloat32: return "f32";
    case ValueType::kBool: return "bool";
    case ValueType::kString: return "string";
    case ValueType::kArray: return "array";
    case ValueType::kUint64: return "u64";
    case ValueType::kInt64: return "i64";
    case ValueType::kFloat64: return "f64";
  }
  return "unknown";
}

Result<std::optional<std::uint32_t>> GgufFile::u32(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  const auto value = integer(*entry, std::numeric_limits<std::uint32_t>::max());
  if (!value) return std::unexpected(value.error());
  return static_cast<std::uint32_t>(*value);
}

Result<std::optional<std::uint64_t>> GgufFile::u64(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  const auto value = integer(*entry, std::numeric_limits<std::uint64_t>::max());
  if (!value) return std::unexpected(value.error());
  return *value;
}

Result<std::optional<float>> GgufFile::f32(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type == ValueType::kFloat32) return read<float>(*entry);
  if (entry->type != ValueType::kFloat64) return wrong_type(*entry, "a float");
  const double value = read<double>(*entry);
  // The conversion is undefined outside the range of float, and no value there is of use.
  if (!(std::fabs(value) <= std::numeric_limits<float>::max())) return out_of_range(*entry);
  return static_cast<float>(value);
}

Result<std::optional<bool>> GgufFile::boolean(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type != ValueType::kBool) return wrong_type(*entry, "a bool");
  return read<std::uint8_t>(*entry) != 0;
}

Result<std::optional<std::string_view>> GgufFile::string(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type != ValueType::kString) return wrong_type(*entry, "a string");
  return std::string_view(reinterpret_cast<const char*>(entry->payload.data()),
                          entry->payload.size());
}

Result<std::optional<StringArray>> GgufFile::strings(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type != ValueType::kArray || entry->element != ValueType::kString) {
    return wrong_type(*entry, "an array of strings");
  }
  return StringArray(static_cast<std::size_t>(entry->count), entry->payload);
}

Result<std::optional<PackedArray<float>>> GgufFile::floats(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type != ValueType::kArray || entry->element != ValueType::kFloat32) {
    return wrong_type(*entry, "an array of f32");
  }
  return PackedArray<float>(entry->payload);
}

Result<std::optional<PackedArray<std::int32_t>>> GgufFile::int32s(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type != ValueType::kArray ||
      (entry->element != ValueType::kInt32 && entry->element != ValueType::kUint32)) {
    return wrong_type(*entry, "an array of i32");
  }
  return PackedArray<std::int32_t>(entry->payload);
}

Result<std::optional<PackedArray<std::uint8_t>>> GgufFile::booleans(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type != ValueType::kArray || entry->element != ValueType::kBool) {
    return wrong_type(*entry, "an array of bool");
  }
  return PackedArray<std::uint8_t>(entry->payload);
}

}  // namespace paternoster::model
