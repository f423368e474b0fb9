// Point of choice: how the pool is cut into batches. Pure functions over lengths.
//
//   solo      one by one
//   fixed     in order of arrival, each batch as large as max_batch and memory allow
//   sorted    the same after sorting by input length: neighbours need little padding
//   adaptive  sorted, then cut where the sum of estimated serving times is least, by dynamic
//             programming (arXiv 2406.13511, "adaptive batching"):
//               f[0] = 0;  f[i] = min over k in 1 .. min(i, Nmax) of f[i - k] + T(k, L_i, S)
//             over the k whose batch fits into memory. Because of the sorting L_i is what the batch
//             that ends at i is padded to. O(n Nmax). Equal sums: the larger last batch.
//
// A batch of one always passes: whether it fits was asked when its request was submitted.
#pragma once

#include <cstdint>
#include <vector>

#include "fleet/choices.h"

namespace paternoster::fleet {

// One request that waits to be put into a batch.
struct Item {
  std::uint32_t slot = 0;        // whose it is: the caller's business
  std::uint64_t arrival = 0;     // total order
  std::int32_t sequences = 1;    // more than one only if solo
  std::int32_t input = 0;        // tokens known
  std::int32_t iterations = 0;   // it may run in this slice
  std::int32_t expected = 0;     // it probably runs: what times are estimated by
};

// Items [first, first + count) of the order that cut() left.
struct Group {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::int32_t padded_input = 0;
  std::int32_t iterations = 0;
  std::int64_t kv_tokens = 0;    // without padding, at the end
  std::int64_t estimate_ns = 0;
  std::uint64_t oldest = 0;      // the least arrival
};

struct CutRules {
  const TimeModel* time = nullptr;
  const MemoryModel* memory = nullptr;  // bounds a padded batch, unless paged
  std::int32_t max_batch = 1;
  bool prefills = true;         // false: the KV of all items is there already
  bool paged = false;           // memory is what is really held, and at most so much:
  std::int64_t kv_tokens = 0;
};

class Batcher {
 public:
  // Reorders `items` and appends the groups, which cover all of them.
  void cut(Batching batching, const CutRules& rules, std::vector<Item>& items, std::vector<Group>& groups);

 private:
  void cut_greedily(const CutRules& rules, const std::vector<Item>& items, std::vector<Group>& groups);
  void cut_adaptively(const CutRules& rules, const std::vector<Item>& items, std::vector<Group>& groups);

  std::vector<std::int64_t> cost_ns_;  // f
  std::vector<std::uint32_t> last_;    // size of the last batch in the best cut of the first i
};

}  // namespace paternoster::fleet
