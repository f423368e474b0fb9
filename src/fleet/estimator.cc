#include "fleet/estimator.h"

#include <algorithm>

namespace paternoster::fleet {
namespace {

// Wide enough for any sum over coefficients below 2^45, 2^16 sequences and lengths below 2^30, which
// is what validate() and submit() let through. Divided only after it has been clamped to 64 bits, so
// that no helper of the compiler's is called.
__extension__ using Wide = __int128;

std::int64_t to_ns(Wide picoseconds) {
  if (picoseconds <= 0) return 0;
  const Wide most = Wide{kMostNs} * 1000;
  return static_cast<std::int64_t>(std::min(picoseconds, most)) / 1000;
}

Wide prefill_ps(const TimeModel& model, const Shape& shape) {
  return Wide{shape.sequences} * shape.input * model.prefill_token_ps +
         Wide{shape.sequences} * model.prefill_sequence_ps +
         Wide{shape.input} * model.prefill_position_ps + model.prefill_base_ps;
}

Wide decode_ps(const TimeModel& model, const Shape& shape) {
  const std::int64_t steps = shape.iterations;
  // The lengths L + 1 .. L + S, summed.
  const std::int64_t lengths = steps * shape.input + steps * (steps + 1) / 2;
  return Wide{steps} * shape.sequences * model.decode_sequence_ps + Wide{steps} * model.decode_base_ps +
         Wide{lengths} * shape.sequences * model.decode_context_ps + Wide{lengths} * model.decode_position_ps;
}

}  // namespace

TimeModel time_model_of(const scheduler::CostModel& step, std::int64_t usual_input) {
  constexpr std::int64_t kMost = std::int64_t{1} << 45;  // what validate() lets through
  TimeModel time;
  time.prefill_base_ps = time.decode_base_ps = std::min(scheduler::saturating_multiply(step.step_ns, 1000), kMost);
  const std::int64_t looks_back_ps = scheduler::saturating_multiply(step.chunk_context_ps, usual_input / 2);
  time.prefill_token_ps = std::min(scheduler::saturating_add(step.token_ps, looks_back_ps), kMost);
  time.decode_sequence_ps = std::min(step.token_ps, kMost);
  time.decode_context_ps = std::min(step.context_ps, kMost);
  return time;
}

std::int64_t prefill_ns(const TimeModel& model, const Shape& shape) {
  return to_ns(prefill_ps(model, shape));
}

std::int64_t decode_ns(const TimeModel& model, const Shape& shape) { return to_ns(decode_ps(model, shape)); }

std::int64_t serve_ns(const TimeModel& model, const Shape& shape) {
  return to_ns(prefill_ps(model, shape) + decode_ps(model, shape));
}

bool fits(const MemoryModel& memory, const Shape& shape) {
  const std::int64_t total = shape.input + shape.iterations;
  if (shape.sequences * total > memory.kv_tokens) return false;
  if (memory.rules.empty() || shape.sequences == 1) return true;
  const auto rule = std::ranges::lower_bound(memory.rules, total, {}, [](const MemoryModel::Rule& one) {
    return std::int64_t{one.total_length};
  });
  return rule != memory.rules.end() && shape.sequences <= rule->sequences;
}

}  // namespace paternoster::fleet
