// The swap area's accounting: which host blocks are free, and which are being read by the plan in
// flight and come free with the next. Numbers only, no memory.
//
// Invariant: free + leaving + held by waiting sequences = total. Internal to scheduler/.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/ids.h"

namespace paternoster::scheduler {

class HostArea {
 public:
  explicit HostArea(std::int32_t total) : total_(total) {
    for (std::int32_t block = total; block-- > 0;) {
      free_.push_back(BlockId{static_cast<std::uint32_t>(block)});  // 0 is taken first
    }
  }

  std::int32_t total() const { return total_; }
  std::int32_t free() const { return static_cast<std::int32_t>(free_.size()); }
  std::int32_t used() const { return total_ - free() - leaving(); }
  std::int32_t leaving() const { return static_cast<std::int32_t>(leaving_.size()); }

  BlockId take() {
    PATERNOSTER_CHECK(!free_.empty());
    const BlockId block = free_.back();
    free_.pop_back();
    return block;
  }
  void release(BlockId block) { free_.push_back(block); }
  // The plan being made reads it first.
  void release_after_step(BlockId block) { leaving_.push_back(block); }
  void begin_step() {
    free_.insert(free_.end(), leaving_.begin(), leaving_.end());
    leaving_.clear();
  }

 private:
  std::int32_t total_;
  std::vector<BlockId> free_;
  std::vector<BlockId> leaving_;
};

}  // namespace paternoster::scheduler
