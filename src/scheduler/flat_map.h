// A map from 64-bit keys to 32-bit values: open addressing, linear probing, erasure by shifting
// back, so that nothing is allocated unless it grows. (std::unordered_map allocates a node an entry
// and computes its load factor in floating point, which this layer does without.)
//
// Invariant: at most half the cells are full, so every probe ends. For the planners,
// scheduler/ and fleet/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scheduler/mix.h"

namespace paternoster::scheduler {

class FlatMap {
 public:
  explicit FlatMap(std::size_t expected = 16) { cells_.resize(cells_for(expected)); }

  std::size_t size() const { return size_; }

  // The value of key, or nullptr. Valid until the next insert or erase.
  const std::uint32_t* find(std::uint64_t key) const {
    for (std::size_t at = home(key); cells_[at].full; at = next(at)) {
      if (cells_[at].key == key) return &cells_[at].value;
    }
    return nullptr;
  }

  // Sets key to value, new or not.
  void put(std::uint64_t key, std::uint32_t value) {
    if ((size_ + 1) * 2 > cells_.size()) grow();
    std::size_t at = home(key);
    while (cells_[at].full && cells_[at].key != key) at = next(at);
    size_ += cells_[at].full ? 0 : 1;
    cells_[at] = Cell{key, value, true};
  }

  bool erase(std::uint64_t key) {
    std::size_t hole = home(key);
    while (cells_[hole].full && cells_[hole].key != key) hole = next(hole);
    if (!cells_[hole].full) return false;
    for (std::size_t at = next(hole); cells_[at].full; at = next(at)) {
      // A cell may move into the hole unless its home lies after the hole on its way to where it
      // is.
      const std::size_t mask = cells_.size() - 1;
      if (((at - home(cells_[at].key)) & mask) >= ((at - hole) & mask)) {
        cells_[hole] = cells_[at];
        hole = at;
      }
    }
    cells_[hole].full = false;
    --size_;
    return true;
  }

 private:
  struct Cell {
    std::uint64_t key = 0;
    std::uint32_t value = 0;
    bool full = false;
  };

  static std::size_t cells_for(std::size_t expected) {
    std::size_t cells = 16;
    while (cells < expected * 2) cells *= 2;
    return cells;
  }
  std::size_t home(std::uint64_t key) const { return mix(kMixStart, key) & (cells_.size() - 1); }
  std::size_t next(std::size_t at) const { return (at + 1) & (cells_.size() - 1); }

  void grow() {
    std::vector<Cell> old(cells_.size() * 2);
    old.swap(cells_);
    size_ = 0;
    for (const Cell& cell : old) {
      if (cell.full) put(cell.key, cell.value);
    }
  }

  std::vector<Cell> cells_;
  std::size_t size_ = 0;
};

}  // namespace paternoster::scheduler
