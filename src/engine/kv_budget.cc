#include "engine/kv_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace paternoster::engine {
namespace {

constexpr std::int32_t kLeastLength = 256;  // a model that cannot hold this much is not worth starting
constexpr std::int64_t kMostBlocks = std::numeric_limits<std::int32_t>::max() / 64;

std::int64_t blocks_for(std::int64_t tokens, std::int32_t block_tokens) {
  return (tokens + block_tokens - 1) / block_tokens;
}

struct Choice {
  std::int64_t blocks;
  std::string reason;
};

Choice measured(const KvWish& wish, const KvCosts& costs, const Machine& machine, std::int32_t max_len) {
  const auto engines = static_cast<std::uint64_t>(wish.engines);
  const std::uint64_t taken = costs.weight_bytes + costs.scratch_bytes * engines;
  const std::uint64_t left = machine.available_bytes > taken ? machine.available_bytes - taken : 0;
  const auto affordable = static_cast<std::int64_t>(left / 2 / engines / costs.block_bytes);
  const std::int64_t useful = blocks_for(max_len, costs.block_tokens) * wish.max_seqs;
  if (affordable >= useful) {
    return {useful, fmt::format("enough for {} sequences of {} tokens", wish.max_seqs, max_len)};
  }
  return {affordable, fmt::format("half of what is left: {}; weights take {} MiB, scratch {} MiB{}",
                                  machine.available_reason, costs.weight_bytes / kMebibyte,
                                  costs.scratch_bytes * engines / kMebibyte,
                                  engines > 1 ? fmt::format("; shared by {} engines", engines) : "")};
}

Choice choose(const KvWish& wish, const KvCosts& costs, const Machine& machine, std::int32_t max_len) {
  if (wish.tokens) return {blocks_for(*wish.tokens, costs.block_tokens), "as --kv-tokens asks"};
  if (wish.bytes) {
    return {static_cast<std::int64_t>(*wish.bytes / costs.block_bytes), "as --kv-memory asks"};
  }
  return measured(wish, costs, machine, max_len);
}

}  // namespace

Result<KvBudget> plan_kv(const KvWish& wish, const KvCosts& costs, const Machine& machine) {
  std::int32_t max_len = wish.max_len.value_or(costs.trained_context);
  Choice choice = choose(wish, costs, machine, max_len);
  choice.blocks = std::min(choice.blocks, kMostBlocks);
  const std::int64_t tokens = choice.blocks * costs.block_tokens;
  if (tokens < max_len) {
    if (wish.max_len || tokens < std::min(kLeastLength, max_len)) {
      return failure(ErrorCode::kResourceExhausted,
                     fmt::format("the KV cache would hold {} tokens ({}), fewer than one sequence of {}: raise "
                                 "--kv-tokens or --kv-memory, lower --max-len, or free memory",
                                 tokens, choice.reason, max_len));
    }
    choice.reason += fmt::format("; max-len lowered from {} to what fits", max_len);
    max_len = static_cast<std::int32_t>(tokens);
  }
  return KvBudget{static_cast<std::int32_t>(choice.blocks), max_len,
                  static_cast<std::uint64_t>(choice.blocks) * costs.block_bytes, choice.reason};
}

}  // namespace paternoster::engine
