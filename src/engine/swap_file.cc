#include "engine/swap_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "engine/machine.h"

namespace paternoster::engine {
namespace {

std::unexpected<Error> cannot(const std::filesystem::path& path, const std::string& what, int error) {
  const char* advice = error == EEXIST                      ? ": remove it or name another (--swap-file)"
                       : error == ENOSPC || error == EFBIG  ? ": lower --swap-memory or name another place"
                                                            : "";
  return failure(error == ENOSPC || error == EFBIG ? ErrorCode::kResourceExhausted : ErrorCode::kInvalidArgument,
                 fmt::format("cannot {} the swap file {}: {}{}", what, path.string(), std::strerror(error), advice));
}

// All of it, or the reason why not.
int write_at(int descriptor, std::span<const std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : ENOSPC;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return 0;
}

int read_at(int descriptor, std::span<std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t done = ::pread(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : EIO;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return 0;
}

}  // namespace

Result<std::unique_ptr<SwapFile>> SwapFile::create(const std::filesystem::path& path, std::uint64_t blocks,
                                                   std::uint64_t block_bytes) {
  std::signal(SIGXFSZ, SIG_IGN);  // beyond a limit of file size a write fails; it need not kill
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return cannot(path, "create", errno);
  ::unlink(path.c_str());
  std::unique_ptr<SwapFile> file(new SwapFile(path, descriptor, blocks, block_bytes));
  const std::uint64_t bytes = blocks * block_bytes;
  if (bytes == 0) return file;
  const int error = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  if (error != 0) return cannot(path, fmt::format("get {} MiB for", (bytes + kMebibyte - 1) / kMebibyte), error);
  return file;
}

SwapFile::SwapFile(std::filesystem::path path, int descriptor, std::uint64_t blocks, std::uint64_t block_bytes)
    : path_(std::move(path)), descriptor_(descriptor), blocks_(blocks), block_bytes_(block_bytes) {}

SwapFile::~SwapFile() { ::close(descriptor_); }

void SwapFile::write(std::uint64_t block, std::span<const std::span<const std::byte>> parts) {
  PATERNOSTER_CHECK(block < blocks_);
  kept_.erase(block);
  std::uint64_t offset = block * block_bytes_;
  int error = 0;
  for (const auto part : parts) {
    if (error == 0) error = write_at(descriptor_, part, offset);
    offset += part.size();
  }
  PATERNOSTER_CHECK(offset == (block + 1) * block_bytes_);
  if (error == 0) return;
  if (!std::exchange(told_, true)) {
    spdlog::error("cannot write to the swap file {}: {}; what it does not take is kept in memory", path_.string(),
                  std::strerror(error));
  }
  std::vector<std::byte>& kept = kept_[block];
  for (const auto part : parts) kept.insert(kept.end(), part.begin(), part.end());
}

void SwapFile::read(std::uint64_t block, std::span<const std::span<std::byte>> parts) {
  PATERNOSTER_CHECK(block < blocks_);
  const auto kept = kept_.find(block);
  std::uint64_t offset = 0;
  for (const auto part : parts) {
    if (kept != kept_.end()) {
      std::memcpy(part.data(), kept->second.data() + offset, part.size());
    } else if (const int error = read_at(descriptor_, part, block * block_bytes_ + offset); error != 0) {
      spdlog::critical("cannot read the swap file {} back: {}", path_.string(), std::strerror(error));
      spdlog::shutdown();
      std::_Exit(1);
    }
    offset += part.size();
  }
  PATERNOSTER_CHECK(offset == block_bytes_);
  if (kept != kept_.end()) kept_.erase(kept);
}

}  // namespace paternoster::engine
