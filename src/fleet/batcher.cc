#include "fleet/batcher.h"

#include <algorithm>

namespace paternoster::fleet {
namespace {

// A batch that grows by one item at a time.
struct Growing {
  std::int64_t sequences = 0;
  std::int32_t padded_input = 0;
  std::int32_t iterations = 0;
  std::int32_t expected = 0;
  std::int64_t kv_tokens = 0;
  std::uint64_t oldest = UINT64_MAX;

  void add(const Item& item) {
    sequences += item.sequences;
    padded_input = std::max(padded_input, item.input);
    iterations = std::max(iterations, item.iterations);
    expected = std::max(expected, item.expected);
    kv_tokens += std::int64_t{item.input} + item.iterations;
    oldest = std::min(oldest, item.arrival);
  }

  bool may_run(const CutRules& rules) const {
    if (rules.paged) return kv_tokens <= rules.kv_tokens;
    return fits(*rules.memory, {sequences, padded_input, iterations});
  }

  std::int64_t estimate_ns(const CutRules& rules) const {
    const Shape shape{sequences, padded_input, expected};
    return rules.prefills ? serve_ns(*rules.time, shape) : decode_ns(*rules.time, shape);
  }

  Group close(const CutRules& rules, std::size_t first, std::size_t count) const {
    return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count), padded_input, iterations,
            kv_tokens, estimate_ns(rules), oldest};
  }
};

constexpr std::int64_t kUnreachable = INT64_MAX / 2;

}  // namespace

void Batcher::cut(Batching batching, const CutRules& rules, std::vector<Item>& items,
                  std::vector<Group>& groups) {
  const bool by_length = batching == Batching::kSorted || batching == Batching::kAdaptive;
  std::ranges::sort(items, [by_length](const Item& a, const Item& b) {
    if (by_length && a.input != b.input) return a.input < b.input;
    return a.arrival < b.arrival;
  });
  CutRules used = rules;
  if (batching == Batching::kSolo) used.max_batch = 1;
  if (batching == Batching::kAdaptive) {
    cut_adaptively(used, items, groups);
  } else {
    cut_greedily(used, items, groups);
  }
}

void Batcher::cut_greedily(const CutRules& rules, const std::vector<Item>& items, std::vector<Group>& groups) {
  std::size_t first = 0;
  while (first < items.size()) {
    Growing batch;
    batch.add(items[first]);
    std::size_t end = first + 1;
    for (; end < items.size() && end - first < static_cast<std::size_t>(rules.max_batch); ++end) {
      Growing larger = batch;
      larger.add(items[end]);
      if (!larger.may_run(rules)) break;
      batch = larger;
    }
    groups.push_back(batch.close(rules, first, end - first));
    first = end;
  }
}

void Batcher::cut_adaptively(const CutRules& rules, const std::vector<Item>& items, std::vector<Group>& groups) {
  const std::size_t count = items.size();
  cost_ns_.assign(count + 1, 0);
  last_.assign(count + 1, 0);
  for (std::size_t end = 1; end <= count; ++end) {
    Growing batch;
    std::int64_t best_ns = kUnreachable;
    const std::size_t most = std::min(end, static_cast<std::size_t>(rules.max_batch));
    for (std::size_t size = 1; size <= most; ++size) {
      batch.add(items[end - size]);
      if (size > 1 && !batch.may_run(rules)) break;  // more items only need more
      const std::int64_t cost_ns = std::min(cost_ns_[end - size] + batch.estimate_ns(rules), kUnreachable);
      if (cost_ns > best_ns) continue;
      best_ns = cost_ns;
      last_[end] = static_cast<std::uint32_t>(size);
    }
    cost_ns_[end] = best_ns;
  }
  const std::size_t before = groups.size();
  for (std::size_t end = count; end > 0; end -= last_[end]) {
    Growing batch;
    for (std::size_t at = end - last_[end]; at < end; ++at) batch.add(items[at]);
    groups.push_back(batch.close(rules, end - last_[end], last_[end]));
  }
  std::reverse(groups.begin() + static_cast<std::ptrdiff_t>(before), groups.end());
}

}  // namespace paternoster::fleet
