// Two hash tables for the tokenizers' inner loops: flat, open addressing, built once, then only
// read.
//
// PairMap: two token ids -> what they merge into. PieceMap: bytes -> token id, without owning the
// bytes. Both are seeded by chance, so that no file can be made to collide. Internal to text/.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace paternoster::text {

// The same for the whole process.
std::uint64_t hash_seed();

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) noexcept {
  const auto load = [&](std::size_t at, std::size_t count) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, count);
    return word;
  };
  std::uint64_t state = seed ^ (bytes.size() * 0x9E3779B97F4A7C15u);
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    state = mix(state ^ load(at, 8), 0xA0761D6478BD642Fu ^ seed);
  }
  if (at < bytes.size()) {
    state = mix(state ^ load(at, bytes.size() - at), 0xE7037ED1A0B428DBu ^ seed);
  }
  return mix(state, 0x8EBC6AF09C88C6E3u);
}

struct Merge {
  std::uint32_t rank;  // lower goes first
  TokenId id;          // of the merged token
};

class PairMap {
 public:
  explicit PairMap(std::size_t expected = 0)
      : slots_(std::bit_ceil(expected * 2 + 2)), seed_(hash_seed() | 1) {}

  // The first insertion of a pair stays. At most `expected` pairs.
  void insert(TokenId left, TokenId right, Merge merge) {
    Slot& slot = slots_[find_slot(key_of(left, right))];
    if (slot.key == kEmpty) slot = {key_of(left, right), merge};
  }

  const Merge* find(TokenId left, TokenId right) const noexcept {
    const Slot& slot = slots_[find_slot(key_of(left, right))];
    return slot.key == kEmpty ? nullptr : &slot.merge;
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // ids are not negative

  struct Slot {
    std::uint64_t key = kEmpty;
    Merge merge{};
  };

  static std::uint64_t key_of(TokenId left, TokenId right) noexcept {
    return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) |
           static_cast<std::uint32_t>(right);
  }

  std::size_t find_slot(std::uint64_t key) const noexcept {
    const std::size_t last = slots_.size() - 1;
    std::size_t at = mix(key ^ seed_, 0x9E3779B97F4A7C15u) & last;
    while (slots_[at].key != key && slots_[at].key != kEmpty) at = (at + 1) & last;
    return at;
  }

  std::vector<Slot> slots_;
  std::uint64_t seed_;
};

// `Bytes` gives the bytes of an id: std::string_view operator()(TokenId) const.
class PieceMap {
 public:
  explicit PieceMap(std::size_t expected = 0)
      : slots_(std::bit_ceil(expected * 2 + 2)), seed_(hash_seed()) {}

  // The first id of equal bytes stays. At most `expected` pieces.
  template <typename Bytes>
  void insert(TokenId id, const Bytes& bytes_of) {
    const std::uint64_t hash = hash_bytes(bytes_of(id), seed_);
    Slot& slot = slots_[find_slot(bytes_of(id), hash, bytes_of)];
    if (slot.id < 0) slot = {static_cast<std::uint32_t>(hash >> 32), id};
  }

  // -1: no such piece.
  template <typename Bytes>
  TokenId find(std::string_view bytes, const Bytes& bytes_of) const {
    return slots_[find_slot(bytes, hash_bytes(bytes, seed_), bytes_of)].id;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    TokenId id = -1;
  };

  template <typename Bytes>
  std::size_t find_slot(std::string_view bytes, std::uint64_t hash, const Bytes& bytes_of) const {
    const std::size_t last = slots_.size() - 1;
    const auto high = static_cast<std::uint32_t>(hash >> 32);
    std::size_t at = hash & last;
    while (slots_[at].id >= 0 && (slots_[at].hash != high || bytes_of(slots_[at].id) != bytes)) {
      at = (at + 1) & last;
    }
    return at;
  }

  std::vector<Slot> slots_;
  std::uint64_t seed_;
};

// Many strings in one allocation, numbered from 0.
class StringTable {
 public:
  void reserve(std::size_t count, std::size_t bytes) {
    ends_.reserve(count);
    bytes_.reserve(bytes);
  }
  void add(std::string_view text) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    ends_.push_back(bytes_.size());
  }
  std::size_t size() const noexcept { return ends_.size(); }
  std::string_view operator()(TokenId id) const noexcept {
    const auto index = static_cast<std::size_t>(id);
    const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
    return {bytes_.data() + begin, ends_[index] - begin};
  }

 private:
  std::vector<char> bytes_;
  std::vector<std::size_t> ends_;
};

}  // namespace paternoster::text
