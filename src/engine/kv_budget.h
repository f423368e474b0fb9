// How many KV blocks to have, decided before the port opens, and the sentence that says why.
//
// Asked for by tokens or bytes, or else measured: half of the memory that weights and scratch leave,
// but no more than all seats filled to max_len could use. A pure function, so that it can be tested.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "engine/machine.h"

namespace paternoster::engine {

struct KvWish {
  std::optional<std::int64_t> tokens;   // --kv-tokens
  std::optional<std::uint64_t> bytes;   // --kv-memory
  std::optional<std::int32_t> max_len;  // --max-len; else what was trained, or what fits
  std::int32_t max_seqs = 1;
  std::int32_t engines = 1;             // that share the machine: all else here is for one of them
};

struct KvCosts {
  std::uint64_t block_bytes = 0;
  std::int32_t block_tokens = 16;
  std::int32_t trained_context = 0;
  std::uint64_t weight_bytes = 0;   // still to be allocated
  std::uint64_t scratch_bytes = 0;
};

struct KvBudget {
  std::int32_t blocks = 0;
  std::int32_t max_len = 0;
  std::uint64_t bytes = 0;
  std::string reason;
};

// Fails, with a line that says what to change, when one sequence of an explicit max_len (or of a
// small least one) cannot fit.
Result<KvBudget> plan_kv(const KvWish& wish, const KvCosts& costs, const Machine& machine);

}  // namespace paternoster::engine
