// Every decoding sequence gets its token first, then prompts on their way get chunks of what is left,
// then new ones, so that streams never stall ("Taming Throughput-Latency Tradeoff in LLM Inference
// with Sarathi-Serve", OSDI'24, section 4.2 and algorithm 3). The chunks are those of chunked.h.
#pragma once

namespace paternoster::scheduler::prefill {

struct StallFree {
  static constexpr bool kDecodesFirst = true;
};

}  // namespace paternoster::scheduler::prefill
