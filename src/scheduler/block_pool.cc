#include "scheduler/block_pool.h"

#include "base/check.h"

namespace paternoster::scheduler {

BlockPool::BlockPool(std::int32_t total) : links_(static_cast<std::size_t>(total) + 1) {
  const auto head = static_cast<std::uint32_t>(total);
  links_[head].previous = links_[head].next = head;
  free_.reserve(head);
  for (std::uint32_t block = head; block-- > 0;)
    free_.push_back(BlockId{block});  // 0 is taken first
}

void BlockPool::unlink(std::uint32_t block) {
  Link& link = links_[block];
  links_[link.previous].next = link.next;
  links_[link.next].previous = link.previous;
  link.cached = false;
  --cached_;
}

void BlockPool::append(std::uint32_t block) {
  const auto head = static_cast<std::uint32_t>(links_.size() - 1);
  Link& link = links_[block];
  link.previous = links_[head].previous;
  link.next = head;
  links_[link.previous].next = block;
  links_[head].previous = block;
  link.cached = true;
  ++cached_;
}

BlockPool::Taken BlockPool::take() {
  PATERNOSTER_CHECK(available() > 0);
  const bool was_cached = free_.empty();
  BlockId block;
  if (was_cached) {
    block = BlockId{links_.back().next};
    unlink(block.value);
  } else {
    block = free_.back();
    free_.pop_back();
  }
  links_[block.value].references = 1;
  return {block, was_cached};
}

void BlockPool::share(BlockId block) {
  Link& link = links_[block.value];
  if (link.references == 0) {
    PATERNOSTER_CHECK(link.cached);
    unlink(block.value);
  }
  ++link.references;
}

void BlockPool::release(BlockId block, bool keep) {
  Link& link = links_[block.value];
  PATERNOSTER_CHECK(link.references > 0);
  ++releases_;
  if (--link.references > 0) return;
  if (keep) {
    append(block.value);
  } else {
    free_.push_back(block);
  }
}

void BlockPool::forget(BlockId block) {
  PATERNOSTER_CHECK(links_[block.value].cached);
  unlink(block.value);
  free_.push_back(block);
}

}  // namespace paternoster::scheduler
