// Prompts are cut to what the step's budget leaves after one token for each decoding sequence, so
// that streams never stall ("Taming Throughput-Latency Tradeoff in LLM Inference with
// Sarathi-Serve", OSDI'24, section 4.2 and algorithm 3; vLLM V1's scheduler does the same).
#pragma once

#include <algorithm>
#include <cstdint>

namespace paternoster::scheduler::prefill {

struct Chunked {
  static std::int32_t tokens(std::int32_t rest, std::int32_t budget) {
    return std::min(rest, budget);
  }
};

}  // namespace paternoster::scheduler::prefill
