// The queue of pairs that may merge: lowest rank first, then leftmost.
//
// Long words are long because they repeat themselves: few ranks, many pairs of each, found almost
// from left to right. So each rank has its own row of pairs, which is only read on while it is in
// order, and becomes a heap once it is not. Internal to text/; one a thread, reused.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace paternoster::text {

class MergeQueue {
 public:
  struct Candidate {
    std::uint32_t left;    // index of the left symbol
    std::uint32_t length;  // of both together: symbols only grow, so it tells what is out of date
    TokenId id;            // of what they merge into
  };

  void clear() {
    ranks_.clear();
    row_of_.clear();
    used_ = 0;
    last_row_ = nullptr;
  }

  void push(std::uint32_t rank, const Candidate& candidate) {
    Row& row = row_for(rank);
    if (row.empty()) {
      row.reset();
      ranks_.push_back(rank);
      std::push_heap(ranks_.begin(), ranks_.end(), std::greater<>());
    }
    row.push(candidate);
  }

  bool empty() const { return ranks_.empty(); }

  Candidate pop() {
    const std::uint32_t rank = ranks_.front();
    Row& row = row_for(rank);
    const Candidate best = row.pop();
    if (row.empty()) {
      std::pop_heap(ranks_.begin(), ranks_.end(), std::greater<>());
      ranks_.pop_back();
    }
    return best;
  }

 private:
  static bool after(const Candidate& a, const Candidate& b) { return a.left > b.left; }

  struct Row {
    std::vector<Candidate> items;
    std::size_t taken = 0;  // while in order: how many were read
    bool in_order = true;

    bool empty() const { return taken == items.size(); }
    void reset() {
      items.clear();
      taken = 0;
      in_order = true;
    }
    void push(const Candidate& candidate) {
      if (in_order && !empty() && candidate.left < items.back().left) {
        // What is in order is a heap already.
        items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(taken));
        taken = 0;
        in_order = false;
      }
      items.push_back(candidate);
      if (!in_order) std::push_heap(items.begin(), items.end(), after);
    }
    Candidate pop() {
      if (in_order) return items[taken++];
      std::pop_heap(items.begin(), items.end(), after);
      const Candidate best = items.back();
      items.pop_back();
      return best;
    }
  };

  Row& row_for(std::uint32_t rank) {
    if (last_row_ != nullptr && last_rank_ == rank) return *last_row_;
    const auto [found, is_new] = row_of_.try_emplace(rank, used_);
    if (is_new) {
      if (used_ == rows_.size()) rows_.emplace_back();
      rows_[used_++].reset();
    }
    last_rank_ = rank;
    last_row_ = &rows_[found->second];
    return *last_row_;
  }

  std::vector<std::uint32_t> ranks_;  // a heap of the ranks whose rows are not empty
  std::unordered_map<std::uint32_t, std::size_t> row_of_;
  std::deque<Row> rows_;
  std::size_t used_ = 0;  // rows in use
  std::uint32_t last_rank_ = 0;
  Row* last_row_ = nullptr;
};

}  // namespace paternoster::text
