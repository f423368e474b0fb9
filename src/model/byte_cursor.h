// Reads little-endian fields from a span, never past its end. Only the GGUF parser uses it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace paternoster::model {

static_assert(std::endian::native == std::endian::little, "GGUF is read in place");

class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t position() const noexcept { return position_; }
  std::size_t remaining() const noexcept { return bytes_.size() - position_; }

  // The next `count` bytes; empty when fewer remain.
  std::optional<std::span<const std::byte>> take(std::uint64_t count) noexcept {
    if (count > remaining()) return std::nullopt;
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    return taken;
  }

  template <typename T>
  std::optional<T> number() noexcept {
    const auto taken = take(sizeof(T));
    if (!taken) return std::nullopt;
    T value;
    std::memcpy(&value, taken->data(), sizeof(T));
    return value;
  }

  // A 64-bit length and that many bytes.
  std::optional<std::string_view> string() noexcept {
    const auto length = number<std::uint64_t>();
    if (!length) return std::nullopt;
    const auto taken = take(*length);
    if (!taken) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(taken->data()), taken->size());
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

}  // namespace paternoster::model
