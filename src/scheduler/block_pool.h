// Paged KV accounting: which blocks are in tables, which are free. Numbers only, no memory.
//
// A block is in one of three states: used (references >= 1), cached (no reference, but the prefix
// index still knows its content; kept in order of release), or free. Blocks are taken from the free
// ones first and then from the cached ones, least recently released first: "Efficient Memory
// Management for Large Language Model Serving with PagedAttention" (SOSP'23), sections 4.2 to 4.4.
//
// Invariant: used + cached + free = total. Internal to scheduler/; whoever takes a cached block
// away removes it from the prefix index.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace paternoster::scheduler {

class BlockPool {
 public:
  explicit BlockPool(std::int32_t total);

  std::int32_t total() const { return static_cast<std::int32_t>(links_.size()) - 1; }
  std::int32_t free() const { return static_cast<std::int32_t>(free_.size()); }
  std::int32_t cached() const { return cached_; }
  std::int32_t available() const { return free() + cached_; }
  std::int32_t used() const { return total() - available(); }
  std::int32_t references(BlockId block) const { return links_[block.value].references; }
  // Counts references given back: without one, nothing can have come free.
  std::uint64_t releases() const { return releases_; }
  bool is_cached(BlockId block) const { return links_[block.value].cached; }

  struct Taken {
    BlockId block;
    bool was_cached;
  };
  // One block with one reference. At least one must be available.
  Taken take();

  // One more reference, to a used or cached block.
  void share(BlockId block);

  // One reference less. With the last one the block becomes cached (keep) or free.
  void release(BlockId block, bool keep);

  // A cached block whose content is no longer known becomes free.
  void forget(BlockId block);

 private:
  struct Link {
    std::uint32_t previous = 0;
    std::uint32_t next = 0;
    std::int32_t references = 0;
    bool cached = false;
  };
  void unlink(std::uint32_t block);
  void append(std::uint32_t block);

  std::vector<Link> links_;  // one a block, and last the head of the ring of cached blocks
  std::vector<BlockId> free_;
  std::int32_t cached_ = 0;
  std::uint64_t releases_ = 0;
};

}  // namespace paternoster::scheduler
