// Generation in slices: "Slice-Level Scheduling for High Throughput and Load Balanced LLM Serving"
// (SCLS, arXiv 2406.13511). A static batch runs for at most slice_tokens output tokens each; whoever
// has not finished returns to the pool, behind those who wait there, and boards with a later batch.
// So the time and the memory of a batch are bounded though lengths are unknown: under `reserve` a
// sequence sets aside one slice, not its worst case.
//
//   sliced       the paper's: KV is dropped at the slice's end, prompt and output computed anew
//   sliced_keep  full KV blocks stay in the prefix cache, where the next slice finds what memory
//                allowed to keep
//
// A batch ends early when all of it has finished, and rows of those who have are not computed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "scheduler/boarding/static.h"

namespace paternoster::scheduler::boarding {

struct Sliced : Static {
  static std::int32_t horizon(std::int32_t max_new, std::int32_t output, std::int32_t slice) {
    return output + std::min(slice, max_new - output);
  }
};

}  // namespace paternoster::scheduler::boarding
