// A log of steps as they really took: CSV, one line a step, written by the native engine and read by
// calibration.
//
//   begin_ns,step_ns,prompt_tokens,decode_tokens,sequences,decode_context,chunk_context
//
// step_ns is from one plan to its commit, begin_ns when it began on a clock of its own; what lies between
// two steps is not in step_ns.
#pragma once

#include <cstdint>
#include <istream>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cost/step_load.h"

namespace paternoster::cost {

struct TimedStep {
  std::int64_t begin_ns = 0;
  std::int64_t step_ns = 0;
  StepLoad load;
};

inline constexpr const char kStepLogHeader[] =
    "begin_ns,step_ns,prompt_tokens,decode_tokens,sequences,decode_context,chunk_context";

void append_step(std::string& out, const TimedStep& step);

// The error names the line.
Result<std::vector<TimedStep>> read_step_log(std::istream& in, const std::string& name);
Result<std::vector<TimedStep>> read_step_log(const std::string& path);

// The host's time between two steps: the median gap between the end of one and the beginning of the
// next, over gaps so short that nothing was waited for. 0 if there are none.
std::int64_t gap_between_steps_ns(std::span<const TimedStep> steps);

}  // namespace paternoster::cost
