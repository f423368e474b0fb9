// Every decoding sequence gets its token first, then prompts on their way get chunks of what is left,
// then new ones, so that streams never stall ("Taming Throughput-Latency Tradeoff in LLM Inference
// with Sarathi-Serve", OSDI'24, section 4.2 and algorithm 3).
#pragma once

#include <algorithm>
#include <cstdint>

namespace paternoster::scheduler::prefill {

struct StallFree {
  static std::int32_t tokens(std::int32_t rest, std::int32_t budget) {
    return std::min(rest, budget);
  }
};

}  // namespace paternoster::scheduler::prefill
