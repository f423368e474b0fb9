// The swap area in a file instead of memory: the KV blocks of those who lost their seat.
//
// The file is private (it holds what people said), has no name any more once it is open, so that nothing is
// left behind whatever happens to the process, and gets all its space at the start, so that a full disk is an
// error then and not later. A block that cannot be written later after all is kept in memory, and the log
// says so once; a block that cannot be read back ends the process, like a memory error. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace paternoster::engine {

class SwapFile {
 public:
  // Makes the file, which must not exist, for so many blocks of so many bytes. The error names file, need
  // and reason.
  static Result<std::unique_ptr<SwapFile>> create(const std::filesystem::path& path, std::uint64_t blocks,
                                                  std::uint64_t block_bytes);
  ~SwapFile();
  SwapFile(const SwapFile&) = delete;
  SwapFile& operator=(const SwapFile&) = delete;

  std::uint64_t blocks() const { return blocks_; }
  // Blocks that the disk did not take and that are in memory instead.
  std::size_t kept_in_memory() const { return kept_.size(); }

  // A block is parts that follow each other, block_bytes together.
  void write(std::uint64_t block, std::span<const std::span<const std::byte>> parts);
  void read(std::uint64_t block, std::span<const std::span<std::byte>> parts);

 private:
  SwapFile(std::filesystem::path path, int descriptor, std::uint64_t blocks, std::uint64_t block_bytes);

  std::filesystem::path path_;  // for messages: the name is gone
  int descriptor_;
  std::uint64_t blocks_;
  std::uint64_t block_bytes_;
  bool told_ = false;
  std::unordered_map<std::uint64_t, std::vector<std::byte>> kept_;
};

}  // namespace paternoster::engine
