// A GGUF file (version 2 or 3, little-endian), mapped read-only, every field checked before use.
//
// After open() has succeeded: keys and tensor names are unique; every string, array element and tensor
// lies inside the file; tensors are aligned, of supported types, and do not overlap. Memory used is a
// small multiple of the header, which is at most kMaximumHeaderBytes, whatever the bytes claim.
//
// Everything handed out (names, strings, arrays, tensor bytes) is a view of the mapping: it lives as
// long as this object, and moving the object does not move it. A file that another process shortens
// while it is mapped raises SIGBUS on the next touch of a lost page; replace model files by renaming.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/packed_array.h"
#include "model/tensor_type.h"

namespace paternoster::model {

class MappedFile;

// GGUF's numbers for the types of metadata values.
enum class ValueType : std::uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

std::string_view name(ValueType type) noexcept;

// One key and its value, still packed. For an array, `element` and `count` describe its elements; for
// a scalar, `element` equals `type` and `count` is 1. `payload` of a string excludes its length.
struct MetadataEntry {
  std::string_view key;
  ValueType type;
  ValueType element;
  std::uint64_t count;
  std::span<const std::byte> payload;
};

struct TensorInfo {
  std::string_view name;
  TensorType type;
  std::uint32_t dimensions;            // 1..4
  std::array<std::uint64_t, 4> shape;  // fastest first (columns, rows, ...), 1 beyond `dimensions`
  std::span<const std::byte> bytes;    // exactly the tensor's

  std::uint64_t columns() const noexcept { return shape[0]; }
  std::uint64_t rows() const noexcept { return shape[1] * shape[2] * shape[3]; }
  std::uint64_t elements() const noexcept { return columns() * rows(); }
};

class GgufFile {
 public:
  static constexpr std::uint64_t kMaximumHeaderBytes = std::uint64_t{64} << 20;
  static constexpr std::uint64_t kMaximumTensors = 1u << 16;
  static constexpr std::uint64_t kMaximumKeys = 1u << 16;
  static constexpr std::uint32_t kMaximumSplits = 1024;

  // Opens a regular file. Any part of a split model ("name-00002-of-00003.gguf") opens all parts, which
  // must lie beside it.
  static Result<GgufFile> open(const std::filesystem::path& path);

  // Reads a file that is already in memory; `bytes` must outlive the result. For tests and fuzzing.
  static Result<GgufFile> from_memory(std::span<const std::byte> bytes);

  GgufFile(GgufFile&&) noexcept;
  GgufFile& operator=(GgufFile&&) noexcept;
  ~GgufFile();

  // Gives the file's pages back once what was needed has been copied; everything stays readable.
  void release_pages() const noexcept;

  std::uint32_t version() const noexcept { return version_; }
  std::uint32_t alignment() const noexcept { return alignment_; }
  std::uint64_t file_bytes() const noexcept { return file_bytes_; }  // all parts together
  std::size_t parts() const noexcept { return parts_; }

  std::span<const MetadataEntry> metadata() const noexcept { return metadata_; }
  std::span<const TensorInfo> tensors() const noexcept { return tensors_; }

  // nullptr when the file has no such key or tensor.
  const MetadataEntry* find(std::string_view key) const noexcept;
  const TensorInfo* find_tensor(std::string_view name) const noexcept;

  // Typed values. Absent: an empty optional. Present with another type or out of range: an error that
  // names the key. Integers of any width and sign convert when the value fits; f64 converts to f32.
  Result<std::optional<std::uint32_t>> u32(std::string_view key) const;
  Result<std::optional<std::uint64_t>> u64(std::string_view key) const;
  Result<std::optional<float>> f32(std::string_view key) const;
  Result<std::optional<bool>> boolean(std::string_view key) const;
  Result<std::optional<std::string_view>> string(std::string_view key) const;
  Result<std::optional<StringArray>> strings(std::string_view key) const;
  Result<std::optional<PackedArray<float>>> floats(std::string_view key) const;
  Result<std::optional<PackedArray<std::int32_t>>> int32s(std::string_view key) const;  // or uint32
  Result<std::optional<PackedArray<std::uint8_t>>> booleans(std::string_view key) const;  // each 0 or 1

 private:
  friend class GgufParser;
  GgufFile();

  Result<void> index();
  Result<void> append_part(GgufFile&& part, std::uint32_t number, std::uint32_t count);

  std::vector<std::shared_ptr<MappedFile>> mappings_;
  std::uint32_t version_ = 0;
  std::uint32_t alignment_ = 32;
  std::uint64_t file_bytes_ = 0;
  std::size_t parts_ = 1;
  std::vector<MetadataEntry> metadata_;
  std::vector<TensorInfo> tensors_;
  std::vector<std::uint32_t> keys_by_name_;     // indices into metadata_, sorted by key
  std::vector<std::uint32_t> tensors_by_name_;  // indices into tensors_, sorted by name
};

// A name from a file, fit for one line of text: quoted, control bytes escaped, cut at 64 bytes.
std::string quoted_name(std::string_view name);

// A path for the same line: quoted, whole, only control bytes escaped.
std::string quoted_path(const std::filesystem::path& path);

}  // namespace paternoster::model
