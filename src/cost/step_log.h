// A log of steps as they really took: CSV, one line a step, written by the native engine and read by
// calibration.
//
//   step_ns,prompt_tokens,decode_tokens,sequences,decode_context,chunk_context
//
// step_ns is from one plan to its commit; what lies between two steps is not in it.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "base/result.h"
#include "cost/step_load.h"

namespace paternoster::cost {

struct TimedStep {
  std::int64_t step_ns = 0;
  StepLoad load;
};

inline constexpr const char kStepLogHeader[] =
    "step_ns,prompt_tokens,decode_tokens,sequences,decode_context,chunk_context";

void append_step(std::string& out, const TimedStep& step);

// The error names the line.
Result<std::vector<TimedStep>> read_step_log(std::istream& in, const std::string& name);
Result<std::vector<TimedStep>> read_step_log(const std::string& path);

}  // namespace paternoster::cost
