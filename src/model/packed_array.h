// Read-only views of arrays inside a GGUF file, which may start at any byte.
//
// Views: they live as long as the file's mapping. The parser has walked every element once, so reading
// needs no further checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace paternoster::model {

// Fixed-size elements at any alignment.
template <typename T>
  requires std::is_trivially_copyable_v<T>
class PackedArray {
 public:
  PackedArray() = default;
  explicit PackedArray(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t size() const noexcept { return bytes_.size() / sizeof(T); }
  bool empty() const noexcept { return size() == 0; }
  T operator[](std::size_t index) const noexcept {
    T value;
    std::memcpy(&value, bytes_.data() + index * sizeof(T), sizeof(T));
    return value;
  }
  std::vector<T> copy() const {
    std::vector<T> values(size());
    if (!values.empty()) std::memcpy(values.data(), bytes_.data(), values.size() * sizeof(T));
    return values;
  }

 private:
  std::span<const std::byte> bytes_;
};

// Strings, each a 64-bit length and its bytes: forward iteration only, no copies.
class StringArray {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string_view*;
    using reference = std::string_view;

    Iterator() = default;
    explicit Iterator(const std::byte* at) : at_(at) {}
    std::string_view operator*() const noexcept {
      return {reinterpret_cast<const char*>(at_) + sizeof(std::uint64_t), length()};
    }
    Iterator& operator++() noexcept {
      at_ += sizeof(std::uint64_t) + length();
      return *this;
    }
    Iterator operator++(int) noexcept {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    std::size_t length() const noexcept {
      std::uint64_t length = 0;
      std::memcpy(&length, at_, sizeof length);
      return static_cast<std::size_t>(length);
    }
    const std::byte* at_ = nullptr;
  };

  StringArray() = default;
  StringArray(std::size_t count, std::span<const std::byte> bytes) : count_(count), bytes_(bytes) {}

  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  Iterator begin() const noexcept { return Iterator(bytes_.data()); }
  Iterator end() const noexcept { return Iterator(bytes_.data() + bytes_.size()); }
  std::vector<std::string_view> views() const {
    std::vector<std::string_view> all;
    all.reserve(count_);
    for (std::string_view one : *this) all.push_back(one);
    return all;
  }

 private:
  std::size_t count_ = 0;
  std::span<const std::byte> bytes_;
};

}  // namespace paternoster::model
