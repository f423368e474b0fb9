#include "model/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace paternoster::model {
namespace {

std::unexpected<Error> system_failure(int error_number) {
  const auto code = error_number == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument;
  return failure(code, std::generic_category().message(error_number));
}

// The size of an open file that can be mapped.
Result<std::size_t> mappable_size(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return system_failure(errno);
  if (S_ISDIR(status.st_mode)) return failure(ErrorCode::kInvalidFile, "is a directory");
  if (!S_ISREG(status.st_mode)) return failure(ErrorCode::kInvalidFile, "is not a regular file");
  if (status.st_size <= 0) return failure(ErrorCode::kInvalidFile, "is empty");
  return static_cast<std::size_t>(status.st_size);
}

}  // namespace

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a FIFO nobody writes to would wait for ever.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return system_failure(errno);
  const Result<std::size_t> size = mappable_size(descriptor);
  if (!size) {
    ::close(descriptor);
    return std::unexpected(size.error());
  }
  void* start = mmap(nullptr, *size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int error_number = errno;
  ::close(descriptor);
  if (start == MAP_FAILED) return system_failure(error_number);
  return std::shared_ptr<MappedFile>(
      new MappedFile(std::span(static_cast<const std::byte*>(start), *size)));
}

void MappedFile::release() const noexcept {
  madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace paternoster::model
