// Memory for weights, activations and caches: aligned to a cache line, and from 2 MiB on to a huge
// page, with the advice to use huge pages. Owns its bytes, moves, does not copy; zeroed at birth.
#pragma once

#include <cstddef>
#include <memory>

namespace paternoster::kernels {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t bytes);

  std::byte* data() noexcept { return bytes_.get(); }
  const std::byte* data() const noexcept { return bytes_.get(); }
  std::size_t size() const noexcept { return size_; }

  template <typename T>
  T* as() noexcept {
    return reinterpret_cast<T*>(bytes_.get());
  }
  template <typename T>
  const T* as() const noexcept {
    return reinterpret_cast<const T*>(bytes_.get());
  }

 private:
  struct Unmap {
    std::size_t mapped;  // no initialiser: g++ 12 would then find no default constructor in here
    void operator()(std::byte* bytes) const noexcept;
  };
  std::unique_ptr<std::byte[], Unmap> bytes_;
  std::size_t size_ = 0;
};

}  // namespace paternoster::kernels
