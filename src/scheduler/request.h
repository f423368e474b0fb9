// What a rider asks for. A Request is a plain value made by a driver (engine, simulator) and handed
// to Scheduler::submit; the scheduler keeps it until its one terminal event.
//
// Invariant the caller owes: the id is not that of a live request. Everything else may be wrong and
// is answered by a Refused event with its reason.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace paternoster::scheduler {

struct Request {
  RequestId id;
  std::vector<TokenId> prompt;        // at least one token
  std::int32_t max_tokens = 16;       // new tokens a choice, at least one
  std::int32_t choices = 1;           // `n`: sequences that share this prompt
  std::uint64_t cache_namespace = 0;  // prefixes are shared only within one namespace
  // False: every prompt token is computed (prompt log-probabilities need that).
  bool reads_prefix_cache = true;

  // Whom the work is charged to (order fair).
  TenantId tenant{};
  // The class: a lower value is more urgent, as in vLLM (order priority).
  std::int32_t priority = 0;
  // New tokens a choice that the client expects, at most max_tokens; 0: unknown, then max_tokens
  // stands for it (orders shortest and deadline).
  std::int32_t expected_tokens = 0;
  // When the answer must be complete, on the clock of the verbs; 0: never (order deadline).
  std::int64_t deadline_ns = 0;
  // The longest gap between tokens that the client wants (prefill latency_target); 0: the server's.
  std::int64_t itl_target_ns = 0;
};

}  // namespace paternoster::scheduler
