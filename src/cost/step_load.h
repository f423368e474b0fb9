// What one plan asks of the machine, as the few sums that its time depends on. Integers: equal on
// every machine.
#pragma once

#include <cstdint>

#include "scheduler/plan.h"

namespace paternoster::cost {

struct StepLoad {
  std::int64_t sequences = 0;
  std::int64_t prompt_tokens = 0;   // in chunks: entries of more than one token
  std::int64_t decode_tokens = 0;   // entries of one token
  std::int64_t decode_context = 0;  // sum over those of the positions they attend to
  // Sum over chunks of chunk x (what stands before it + half of itself): the pairs attention visits.
  std::int64_t chunk_context = 0;
  std::int64_t swapped_blocks = 0;  // KV blocks between the pool and the host, either way

  std::int64_t tokens() const { return prompt_tokens + decode_tokens; }
  void add(std::int64_t first_position, std::int64_t tokens) {
    ++sequences;
    if (tokens == 1) {
      ++decode_tokens;
      decode_context += first_position + 1;
    } else {
      prompt_tokens += tokens;
      chunk_context += tokens * first_position + tokens * tokens / 2;
    }
  }
  friend bool operator==(const StepLoad&, const StepLoad&) = default;
};

StepLoad load_of(const scheduler::Plan& plan);

}  // namespace paternoster::cost
