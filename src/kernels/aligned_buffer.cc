#include "kernels/aligned_buffer.h"

#include <sys/mman.h>

#include <new>

namespace paternoster::kernels {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Maps zeroed memory whose address is a multiple of `alignment` (a power of two, at least a page).
std::byte* map_aligned(std::size_t bytes, std::size_t alignment) {
  const std::size_t slack = alignment > kPage ? alignment : 0;
  void* raw = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) {
    throw std::bad_alloc();
  }
  auto* begin = static_cast<std::byte*>(raw);
  if (slack == 0) {
    return begin;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::size_t before = round_up(address, alignment) - address;
  if (before > 0) {
    munmap(begin, before);
  }
  if (slack > before) {
    munmap(begin + before + bytes, slack - before);
  }
  return begin + before;
}

}  // namespace

AlignedBuffer::AlignedBuffer(std::size_t bytes) : size_(bytes) {
  if (bytes == 0) {
    return;
  }
  const bool huge = bytes >= kHugePage;
  const std::size_t mapped = round_up(bytes, kPage);
  std::byte* data = map_aligned(mapped, huge ? kHugePage : kPage);
  if (huge) {
    madvise(data, mapped, MADV_HUGEPAGE);  // advice: without huge pages it is slower, not wrong
  }
  bytes_ = {data, Unmap{mapped}};
}

void AlignedBuffer::Unmap::operator()(std::byte* bytes) const noexcept { munmap(bytes, mapped); }

}  // namespace paternoster::kernels
