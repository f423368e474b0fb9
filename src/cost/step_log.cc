#include "cost/step_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

#include "base/json_writer.h"

namespace paternoster::cost {
namespace {

constexpr std::int64_t kLongestGapNs = 10'000'000;

}  // namespace

void append_step(std::string& out, const TimedStep& step) {
  const std::array<std::int64_t, 7> fields = {
      step.begin_ns,       step.step_ns,             step.load.prompt_tokens, step.load.decode_tokens,
      step.load.sequences, step.load.decode_context, step.load.chunk_context};
  for (std::size_t at = 0; at < fields.size(); ++at) {
    if (at > 0) out += ',';
    append_integer(out, fields[at]);
  }
  out += '\n';
}

Result<std::vector<TimedStep>> read_step_log(std::istream& in, const std::string& name) {
  const auto wrong = [&](std::int64_t number, std::string_view what) {
    return failure(ErrorCode::kInvalidFile, name + ":" + std::to_string(number) + ": " + std::string(what));
  };
  std::string line;
  if (!std::getline(in, line) || line != kStepLogHeader) {
    return wrong(1, "not a step log: the first line must be " + std::string(kStepLogHeader));
  }
  std::vector<TimedStep> steps;
  for (std::int64_t number = 2; std::getline(in, line); ++number) {
    TimedStep step;
    const std::array<std::int64_t*, 7> fields = {
        &step.begin_ns,       &step.step_ns,             &step.load.prompt_tokens, &step.load.decode_tokens,
        &step.load.sequences, &step.load.decode_context, &step.load.chunk_context};
    const char* at = line.data();
    const char* const last = line.data() + line.size();
    for (std::size_t field = 0; field < fields.size(); ++field) {
      const auto [end, error] = std::from_chars(at, last, *fields[field]);
      const bool ends_well = field + 1 == fields.size() ? end == last : end != last && *end == ',';
      // Sums of products of these must fit.
      const std::int64_t most = std::int64_t{1} << (field == 0 ? 62 : 50);
      if (error != std::errc() || !ends_well || *fields[field] < 0 || *fields[field] > most) {
        // A log that is cut off in its last line is a log up to there.
        if (in.eof() && end == last) return steps;
        return wrong(number, "'" + line.substr(0, 80) + "' is not seven whole numbers from 0");
      }
      at = end + 1;
    }
    steps.push_back(step);
  }
  return steps;
}

Result<std::vector<TimedStep>> read_step_log(const std::string& path) {
  std::ifstream in(path);
  if (!in) return failure(ErrorCode::kNotFound, "cannot read the step log " + path);
  return read_step_log(in, path);
}

std::int64_t gap_between_steps_ns(std::span<const TimedStep> steps) {
  std::vector<std::int64_t> gaps;
  for (std::size_t at = 1; at < steps.size(); ++at) {
    const std::int64_t gap = steps[at].begin_ns - steps[at - 1].begin_ns - steps[at - 1].step_ns;
    if (gap >= 0 && gap < kLongestGapNs) gaps.push_back(gap);
  }
  if (gaps.empty()) return 0;
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::ranges::nth_element(gaps, middle);
  return *middle;
}

}  // namespace paternoster::cost
