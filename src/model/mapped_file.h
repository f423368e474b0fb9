// One regular file mapped read-only; unmapped by the destructor. Only gguf.cc uses it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "base/result.h"

namespace paternoster::model {

class MappedFile {
 public:
  // Refuses what is not a regular file (without blocking on a FIFO), what is empty, what cannot be
  // read.
  static Result<std::shared_ptr<MappedFile>> open(const std::filesystem::path& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const noexcept { return bytes_; }

  // Takes the pages out of this process's memory. They stay readable: a touched page comes back.
  void release() const noexcept;

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace paternoster::model
