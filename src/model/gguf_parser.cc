#include "model/gguf_parser.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <vector>

namespace paternoster::model {
namespace {

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::uint64_t kMaximumKeyBytes = 65535;
constexpr std::uint64_t kMaximumNameBytes = 255;
constexpr std::uint64_t kSmallestKey = 8 + 1 + 4 + 1;          // length, one byte, type, one byte
constexpr std::uint64_t kSmallestTensor = 8 + 1 + 4 + 8 + 4 + 8;  // name, dimensions, type, offset

// Bytes of one fixed-size value; 0 for strings, arrays and numbers that are no type.
std::uint64_t value_bytes(ValueType type) noexcept {
  switch (type) {
    case ValueType::kUint8:
    case ValueType::kInt8:
    case ValueType::kBool:
      return 1;
    case ValueType::kUint16:
    case ValueType::kInt16:
      return 2;
    case ValueType::kUint32:
    case ValueType::kInt32:
    case ValueType::kFloat32:
      return 4;
    case ValueType::kUint64:
    case ValueType::kInt64:
    case ValueType::kFloat64:
      return 8;
    default:
      return 0;
  }
}

bool booleans_are_valid(std::span<const std::byte> values) {
  return std::ranges::all_of(values, [](std::byte value) { return value <= std::byte{1}; });
}

std::string key_is(std::string_view key) { return "key " + quoted_name(key) + ": "; }
std::string tensor_is(std::string_view tensor) { return "tensor " + quoted_name(tensor) + ": "; }

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

GgufParser::GgufParser(std::span<const std::byte> bytes, std::uint64_t header_budget)
    : bytes_(bytes),
      cursor_(bytes.first(static_cast<std::size_t>(
          std::min<std::uint64_t>(bytes.size(), header_budget)))),
      limited_(bytes.size() > header_budget) {}

Result<GgufFile> GgufParser::parse() {
  GgufFile file;
  file.file_bytes_ = bytes_.size();
  if (auto done = read_preamble(file); !done) return std::unexpected(done.error());
  if (auto done = read_metadata(file); !done) return std::unexpected(done.error());
  if (auto done = read_alignment(file); !done) return std::unexpected(done.error());
  if (auto done = read_tensors(file); !done) return std::unexpected(done.error());
  if (auto done = file.index(); !done) return std::unexpected(done.error());
  return file;
}

std::unexpected<Error> GgufParser::cut_off(std::string_view where) const {
  if (limited_) {
    return invalid_file(std::string(where) + ": the header is larger than " +
                   std::to_string(GgufFile::kMaximumHeaderBytes >> 20) + " MiB");
  }
  return invalid_file(std::string(where) + ": the file ends before this does");
}

Result<void> GgufParser::read_preamble(GgufFile& file) {
  const auto magic = cursor_.number<std::uint32_t>();
  if (!magic || *magic != kMagic) return invalid_file("is not a GGUF file (it does not begin with GGUF)");
  const auto version = cursor_.number<std::uint32_t>();
  if (!version) return cut_off("version");
  if (*version != 2 && *version != 3) {
    if (std::byteswap(*version) == 3 || std::byteswap(*version) == 2) {
      return failure(ErrorCode::kUnsupported, "is a big-endian GGUF file; only little-endian is read");
    }
    return failure(ErrorCode::kUnsupported,
                   "is GGUF version " + std::to_string(*version) + "; versions 2 and 3 are read");
  }
  file.version_ = *version;
  const auto tensors = cursor_.number<std::uint64_t>();
  const auto keys = cursor_.number<std::uint64_t>();
  if (!tensors || !keys) return cut_off("counts of tensors and keys");
  if (*tensors > GgufFile::kMaximumTensors || *tensors > cursor_.remaining() / kSmallestTensor) {
    return invalid_file("tensor count " + std::to_string(*tensors) + " cannot be: too many for this file");
  }
  if (*keys > GgufFile::kMaximumKeys || *keys > cursor_.remaining() / kSmallestKey) {
    return invalid_file("key count " + std::to_string(*keys) + " cannot be: too many for this file");
  }
  tensor_count_ = *tensors;
  key_count_ = *keys;
  return {};
}

Result<void> GgufParser::read_metadata(GgufFile& file) {
  file.metadata_.reserve(static_cast<std::size_t>(key_count_));
  for (std::uint64_t number = 0; number < key_count_; ++number) {
    Result<MetadataEntry> entry = read_entry();
    if (!entry) return std::unexpected(entry.error());
    file.metadata_.push_back(*entry);
  }
  return {};
}

Result<MetadataEntry> GgufParser::read_entry() {
  MetadataEntry entry{};
  const auto key = cursor_.string();
  if (!key) return cut_off("a key's name");
  if (key->empty() || key->size() > kMaximumKeyBytes) {
    return invalid_file(key_is(*key) + "a key has 1 to 65535 bytes, this one " +
                   std::to_string(key->size()));
  }
  entry.key = *key;
  const auto type = cursor_.number<std::uint32_t>();
  if (!type) return cut_off(key_is(*key) + "type");
  entry.type = ValueType{*type};
  entry.element = entry.type;
  entry.count = 1;
  auto done = entry.type == ValueType::kArray ? read_array(entry) : read_scalar(entry);
  if (!done) return std::unexpected(done.error());
  if (entry.element == ValueType::kBool && !booleans_are_valid(entry.payload)) {
    return invalid_file(key_is(*key) + "a boolean is neither 0 nor 1");
  }
  return entry;
}

Result<void> GgufParser::read_scalar(MetadataEntry& entry) {
  if (entry.type == ValueType::kString) {
    const auto text = cursor_.string();
    if (!text) return cut_off(key_is(entry.key) + "string");
    entry.payload = std::as_bytes(std::span(*text));
    return {};
  }
  const std::uint64_t size = value_bytes(entry.type);
  if (size == 0) {
    return invalid_file(key_is(entry.key) + "unknown value type " +
                   std::to_string(static_cast<std::uint32_t>(entry.type)));
  }
  const auto value = cursor_.take(size);
  if (!value) return cut_off(key_is(entry.key) + "value");
  entry.payload = *value;
  return {};
}

Result<void> GgufParser::read_array(MetadataEntry& entry) {
  const auto element = cursor_.number<std::uint32_t>();
  const auto count = cursor_.number<std::uint64_t>();
  if (!element || !count) return cut_off(key_is(entry.key) + "array");
  entry.element = ValueType{*element};
  entry.count = *count;
  if (entry.element == ValueType::kString) return read_strings(entry);
  const std::uint64_t size = value_bytes(entry.element);
  if (size == 0) {
    return invalid_file(key_is(entry.key) + "array of unsupported type " + std::to_string(*element));
  }
  if (*count > cursor_.remaining() / size) {
    return cut_off(key_is(entry.key) + "array of " + std::to_string(*count) + " values");
  }
  entry.payload = *cursor_.take(*count * size);
  return {};
}

Result<void> GgufParser::read_strings(MetadataEntry& entry) {
  const auto fault = [&] {
    return cut_off(key_is(entry.key) + "array of " + std::to_string(entry.count) + " strings");
  };
  if (entry.count > cursor_.remaining() / sizeof(std::uint64_t)) return fault();
  const std::size_t start = cursor_.position();
  for (std::uint64_t index = 0; index < entry.count; ++index) {
    if (!cursor_.string()) return fault();
  }
  entry.payload = bytes_.subspan(start, cursor_.position() - start);
  return {};
}

// The alignment is needed before the index exists, so it is looked for by hand.
Result<void> GgufParser::read_alignment(GgufFile& file) {
  constexpr std::string_view kKey = "general.alignment";
  for (const MetadataEntry& entry : file.metadata_) {
    if (entry.key != kKey) continue;
    if (entry.type != ValueType::kUint32) return invalid_file(key_is(kKey) + "must be a u32");
    file.alignment_ = PackedArray<std::uint32_t>(entry.payload)[0];
    if (!std::has_single_bit(file.alignment_) || file.alignment_ < 8 || file.alignment_ > 65536) {
      return invalid_file(key_is(kKey) + std::to_string(file.alignment_) +
                     " is not a power of two from 8 to 65536");
    }
  }
  return {};
}

Result<void> GgufParser::read_tensors(GgufFile& file) {
  std::vector<Claim> claims;
  claims.reserve(static_cast<std::size_t>(tensor_count_));
  for (std::uint64_t number = 0; number < tensor_count_; ++number) {
    Result<Claim> claim = read_claim(number);
    if (!claim) return std::unexpected(claim.error());
    claims.push_back(*claim);
  }
  return place_tensors(file, claims);
}

Result<GgufParser::Claim> GgufParser::read_claim(std::uint64_t number) {
  Claim claim{};
  const auto name = cursor_.string();
  if (!name) return cut_off("name of tensor " + std::to_string(number));
  if (name->empty() || name->size() > kMaximumNameBytes) {
    return invalid_file(tensor_is(*name) + "a tensor's name has 1 to 255 bytes, this one " +
                   std::to_string(name->size()));
  }
  claim.info.name = *name;
  if (auto done = read_shape(claim.info); !done) return std::unexpected(done.error());
  const auto type = cursor_.number<std::uint32_t>();
  const auto offset = cursor_.number<std::uint64_t>();
  if (!type || !offset) return cut_off(tensor_is(*name) + "type and offset");
  const auto supported = tensor_type_of(*type);
  if (!supported) {
    return failure(ErrorCode::kUnsupported, tensor_is(*name) + "type " +
                                                std::string(gguf_type_name(*type)) + " (" +
                                                std::to_string(*type) + ") is not supported");
  }
  claim.info.type = *supported;
  claim.offset = *offset;
  const TensorTypeTraits& packing = traits(*supported);
  if (claim.info.columns() % packing.block_elements != 0) {
    return invalid_file(tensor_is(*name) + "rows of " + std::to_string(claim.info.columns()) +
                   " elements are no whole number of " + std::string(packing.name) + " blocks (" +
                   std::to_string(packing.block_elements) + ")");
  }
  claim.size = bytes_of(*supported, claim.info.elements());
  return claim;
}

Result<void> GgufParser::read_shape(TensorInfo& info) {
  const auto dimensions = cursor_.number<std::uint32_t>();
  if (!dimensions) return cut_off(tensor_is(info.name) + "dimensions");
  if (*dimensions < 1 || *dimensions > 4) {
    return invalid_file(tensor_is(info.name) + std::to_string(*dimensions) +
                   " dimensions; 1 to 4 can be");
  }
  info.dimensions = *dimensions;
  info.shape = {1, 1, 1, 1};
  // No tensor has more elements than 16 a byte of the file, which also keeps byte counts from
  // wrapping.
  const std::uint64_t limit =
      std::min(std::numeric_limits<std::uint64_t>::max() / 16, std::uint64_t{bytes_.size()} * 16);
  std::uint64_t elements = 1;
  for (std::uint32_t axis = 0; axis < *dimensions; ++axis) {
    const auto extent = cursor_.number<std::uint64_t>();
    if (!extent) return cut_off(tensor_is(info.name) + "shape");
    if (*extent == 0) return invalid_file(tensor_is(info.name) + "a dimension is 0");
    if (*extent > limit / elements) {
      return invalid_file(tensor_is(info.name) + "its shape has more elements than the file can hold");
    }
    elements *= *extent;
    info.shape[axis] = *extent;
  }
  return {};
}

Result<void> GgufParser::place_tensors(GgufFile& file, std::span<Claim> claims) {
  const std::uint64_t start = round_up(cursor_.position(), file.alignment_);
  const std::uint64_t available = bytes_.size() > start ? bytes_.size() - start : 0;
  file.tensors_.reserve(claims.size());
  for (Claim& claim : claims) {
    if (claim.offset % file.alignment_ != 0) {
      return invalid_file(tensor_is(claim.info.name) + "offset " + std::to_string(claim.offset) +
                     " is not aligned to " + std::to_string(file.alignment_));
    }
    if (claim.offset > available || claim.size > available - claim.offset) {
      return invalid_file(tensor_is(claim.info.name) + "its " + std::to_string(claim.size) +
                     " bytes at offset " + std::to_string(claim.offset) +
                     " lie outside the file's data (" + std::to_string(available) +
                     " bytes); is the file complete?");
    }
    claim.info.bytes = bytes_.subspan(static_cast<std::size_t>(start + claim.offset),
                                      static_cast<std::size_t>(claim.size));
    file.tensors_.push_back(claim.info);
  }
  std::ranges::sort(claims, {}, &Claim::offset);
  for (std::size_t next = 1; next < claims.size(); ++next) {
    const Claim& before = claims[next - 1];
    if (before.offset + before.size > claims[next].offset) {
      return invalid_file(tensor_is(claims[next].info.name) + "overlaps tensor " +
                     quoted_name(before.info.name));
    }
  }
  return {};
}

}  // namespace paternoster::model
