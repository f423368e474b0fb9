// One part of a GGUF file, bytes to a checked GgufFile. Only gguf.cc uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/byte_cursor.h"
#include "model/gguf.h"

namespace paternoster::model {

inline std::unexpected<Error> invalid_file(std::string message) {
  return failure(ErrorCode::kInvalidFile, std::move(message));
}

class GgufParser {
 public:
  // At most `header_budget` bytes of header are read.
  GgufParser(std::span<const std::byte> bytes, std::uint64_t header_budget);

  Result<GgufFile> parse();
  std::uint64_t header_bytes() const noexcept { return cursor_.position(); }

 private:
  // A tensor's place, as the file claims it.
  struct Claim {
    TensorInfo info;
    std::uint64_t offset;  // in the data section
    std::uint64_t size;
  };

  Result<void> read_preamble(GgufFile& file);
  Result<void> read_metadata(GgufFile& file);
  Result<MetadataEntry> read_entry();
  Result<void> read_scalar(MetadataEntry& entry);
  Result<void> read_array(MetadataEntry& entry);
  Result<void> read_strings(MetadataEntry& entry);
  Result<void> read_alignment(GgufFile& file);
  Result<void> read_tensors(GgufFile& file);
  Result<Claim> read_claim(std::uint64_t number);
  Result<void> read_shape(TensorInfo& info);
  Result<void> place_tensors(GgufFile& file, std::span<Claim> claims);
  std::unexpected<Error> cut_off(std::string_view where) const;

  std::span<const std::byte> bytes_;
  ByteCursor cursor_;
  bool limited_;  // the header budget, not the file, ends the cursor
  std::uint64_t tensor_count_ = 0;
  std::uint64_t key_count_ = 0;
};

}  // namespace paternoster::model
