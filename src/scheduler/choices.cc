#include "scheduler/choices.h"

#include <span>
#include <string>

namespace paternoster::scheduler {
namespace {

struct Rule {
  const char* name;
  std::int64_t value, low, high;
};

Result<void> in_range(const Rule& rule) {
  if (rule.value >= rule.low && rule.value <= rule.high) return {};
  return failure(ErrorCode::kInvalidArgument,
                 std::string(rule.name) + " is " + std::to_string(rule.value) + ", must be from " +
                     std::to_string(rule.low) + " to " + std::to_string(rule.high));
}

Result<void> in_ranges(std::span<const Rule> rules) {
  for (const Rule& rule : rules) {
    if (auto valid = in_range(rule); !valid) return valid;
  }
  return {};
}

// Far above any machine; low enough that no sum or product of limits wraps.
constexpr std::int64_t kMost = 1 << 30;
constexpr std::int64_t kMostTime = 1'000'000'000'000'000;  // 11 days in ns, 17 minutes in ps
constexpr std::int64_t kMostCharge = 1'000'000;
constexpr std::int64_t kMostDraft = 31;  // with the token before them, within what one step may sample

Result<void> validate(const Limits& limits) {
  const std::int64_t pool_tokens = std::int64_t{limits.num_blocks} * limits.block_size;
  const Rule rules[] = {
      {"max_seqs", limits.max_seqs, 1, 1 << 20},
      {"step_tokens", limits.step_tokens, limits.max_seqs, kMost},
      {"block_size", limits.block_size, 1, 1 << 16},
      {"num_blocks", limits.num_blocks, 1, 1 << 28},
      {"max_len", limits.max_len, 2, kMost},
      {"max_queue", limits.max_queue, 0, kMost},
      {"max_choices", limits.max_choices, 1, 1 << 16},
      {"protect_after", limits.protect_after, 1, kMost},
      {"swap_blocks", limits.swap_blocks, 0, 1 << 28},
      {"num_blocks x block_size", pool_tokens, 1, kMost},
  };
  return in_ranges(rules);
}

Result<void> validate(const Tuning& tuning) {
  const Rule rules[] = {
      {"window_ns", tuning.window_ns, 0, kMostTime},
      {"window_seqs", tuning.window_seqs, 0, 1 << 20},
      {"slice_tokens", tuning.slice_tokens, 1, kMost},
      {"itl_target_ns", tuning.itl_target_ns, 1, kMostTime},
      {"ageing_ns", tuning.ageing_ns, 1, kMostTime},
      {"promotion_ns", tuning.promotion_ns, 1, kMostTime},
      {"quantum_ns", tuning.quantum_ns, 1, kMostTime},
      {"draft_tokens", tuning.draft_tokens, 1, kMostDraft},
      {"draft_seqs", tuning.draft_seqs, 1, 1 << 20},
      {"prompt_charge", tuning.prompt_charge, 0, kMostCharge},
      {"cached_charge", tuning.cached_charge, 0, tuning.prompt_charge},
      {"output_charge", tuning.output_charge, 1, kMostCharge},
  };
  return in_ranges(rules);
}

Result<void> refuse(const char* reason) {
  return failure(ErrorCode::kInvalidArgument, reason);
}

// Combinations in which one choice undoes what another is for.
Result<void> go_together(const Config& config) {
  const Choices& choices = config.choices;
  if (choices.boarding > Boarding::kSlicedKeep || choices.order > Order::kMultilevel ||
      choices.prefill > Prefill::kLatencyTarget || choices.relief > Relief::kAuto ||
      choices.victim > Victim::kLeastWork || choices.speculation > Speculation::kNgram) {
    return refuse("a choice names no policy");
  }
  const bool closed_batches = choices.boarding != Boarding::kContinuous;
  if (closed_batches && choices.order == Order::kMultilevel) {
    return refuse("order multilevel takes seats from those who run: a closed batch gives none up");
  }
  if (closed_batches && choices.prefill == Prefill::kLatencyTarget) {
    return refuse(
        "prefill latency_target keeps prompts from stalling streams: a closed batch has no prompts "
        "beside its streams");
  }
  if (choices.relief == Relief::kSwap && config.limits.swap_blocks == 0) {
    return refuse("relief swap needs room: swap_blocks is 0");
  }
  if (choices.boarding == Boarding::kSlicedKeep && !config.limits.prefix_cache) {
    return refuse("boarding sliced_keep keeps KV in the prefix cache, which is off");
  }
  return {};
}

}  // namespace

Result<void> validate(const CostModel& cost) {
  const Rule rules[] = {
      {"step_ns", cost.step_ns, 0, kMostTime},
      {"token_ps", cost.token_ps, 1, kMostTime},
      {"context_ps", cost.context_ps, 0, kMostTime},
      {"chunk_context_ps", cost.chunk_context_ps, 0, kMostTime},
      {"swap_block_ns", cost.swap_block_ns, 0, kMostTime},
  };
  return in_ranges(rules);
}

Result<void> validate(const Config& config) {
  if (auto valid = validate(config.limits); !valid) return valid;
  if (auto valid = validate(config.tuning); !valid) return valid;
  if (auto valid = validate(config.cost); !valid) return valid;
  return go_together(config);
}

}  // namespace paternoster::scheduler
