#include "scheduler/choices.h"

#include <string>

namespace paternoster::scheduler {
namespace {

Result<void> in_range(const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return {};
  return failure(ErrorCode::kInvalidArgument, std::string(name) + " is " + std::to_string(value) +
                                                  ", must be from " + std::to_string(low) + " to " +
                                                  std::to_string(high));
}

// Far above any machine; low enough that no sum or product of limits wraps.
constexpr std::int64_t kMost = 1 << 30;

}  // namespace

Result<void> validate(const Config& config) {
  const Limits& limits = config.limits;
  const struct {
    const char* name;
    std::int64_t value, low, high;
  } rules[] = {
      {"max_seqs", limits.max_seqs, 1, 1 << 20},
      {"step_tokens", limits.step_tokens, limits.max_seqs, kMost},
      {"block_size", limits.block_size, 1, 1 << 16},
      {"num_blocks", limits.num_blocks, 1, 1 << 28},
      {"max_len", limits.max_len, 2, kMost},
      {"max_queue", limits.max_queue, 0, kMost},
      {"max_choices", limits.max_choices, 1, 1 << 16},
      {"protect_after", limits.protect_after, 1, kMost},
  };
  for (const auto& rule : rules) {
    if (auto valid = in_range(rule.name, rule.value, rule.low, rule.high); !valid) return valid;
  }
  const std::int64_t pool_tokens = std::int64_t{limits.num_blocks} * limits.block_size;
  if (auto valid = in_range("num_blocks x block_size", pool_tokens, 1, kMost); !valid) return valid;
  const Choices& choices = config.choices;
  if (choices.boarding > Boarding::kContinuous || choices.order > Order::kFcfs ||
      choices.prefill > Prefill::kChunked || choices.relief > Relief::kRecompute) {
    return failure(ErrorCode::kInvalidArgument, "a choice names no policy");
  }
  return {};
}

const char* to_string(Boarding boarding) {
  return boarding == Boarding::kStatic ? "static" : "continuous";
}
const char* to_string(Order) { return "fcfs"; }
const char* to_string(Prefill prefill) { return prefill == Prefill::kWhole ? "whole" : "chunked"; }
const char* to_string(Relief relief) {
  return relief == Relief::kReserve ? "reserve" : "recompute";
}

}  // namespace paternoster::scheduler
