#include "fleet/choices.h"

#include <string>

namespace paternoster::fleet {
namespace {

// Far above any machine; low enough that no sum or product of limits wraps.
constexpr std::int64_t kMost = 1 << 30;
constexpr std::int64_t kMostCoefficient = std::int64_t{1} << 45;  // 35 seconds a token

struct Rule {
  const char* name;
  std::int64_t value, low, high;
};

Result<void> in_range(std::initializer_list<Rule> rules) {
  for (const Rule& rule : rules) {
    if (rule.value >= rule.low && rule.value <= rule.high) continue;
    return failure(ErrorCode::kInvalidArgument,
                   std::string(rule.name) + " is " + std::to_string(rule.value) + ", must be from " +
                       std::to_string(rule.low) + " to " + std::to_string(rule.high));
  }
  return {};
}

Result<void> validate_model(const TimeModel& time, const MemoryModel& memory) {
  auto valid = in_range({
      {"prefill_token_ps", time.prefill_token_ps, -kMostCoefficient, kMostCoefficient},
      {"prefill_sequence_ps", time.prefill_sequence_ps, -kMostCoefficient, kMostCoefficient},
      {"prefill_position_ps", time.prefill_position_ps, -kMostCoefficient, kMostCoefficient},
      {"prefill_base_ps", time.prefill_base_ps, -kMostCoefficient, kMostCoefficient},
      {"decode_context_ps", time.decode_context_ps, -kMostCoefficient, kMostCoefficient},
      {"decode_sequence_ps", time.decode_sequence_ps, -kMostCoefficient, kMostCoefficient},
      {"decode_position_ps", time.decode_position_ps, -kMostCoefficient, kMostCoefficient},
      {"decode_base_ps", time.decode_base_ps, -kMostCoefficient, kMostCoefficient},
      {"kv_tokens", memory.kv_tokens, 2, INT64_MAX / 2},
  });
  if (!valid) return valid;
  std::int64_t shortest = 1;
  for (const MemoryModel::Rule& rule : memory.rules) {
    valid = in_range({{"total_length of a memory rule", rule.total_length, shortest, kMost},
                      {"sequences of a memory rule", rule.sequences, 1, kMost}});
    if (!valid) return valid;
    shortest = std::int64_t{rule.total_length} + 1;
  }
  return {};
}

}  // namespace

Result<void> validate(const Config& config) {
  const Limits& limits = config.limits;
  auto valid = in_range({
      {"instances", limits.instances, 1, 1 << 16},
      {"slice_tokens", limits.slice_tokens, 1, kWholeRequest},
      {"max_batch", limits.max_batch, 1, 1 << 16},
      {"max_queue", limits.max_queue, 0, kMost},
      {"max_failures", limits.max_failures, 0, kMost},
      {"interval_ns", limits.interval_ns, 1, kMostNs},
      {"interval_load_permille", limits.interval_load_permille, 0, 100'000},
      {"prefix_slack_permille", limits.prefix_slack_permille, 0, 4000},
      {"known_prefixes", limits.known_prefixes, 0, 1 << 24},
      {"expected_tokens", limits.expected_tokens, 1, kMost},
  });
  if (!valid) return valid;
  if (valid = validate_model(config.time, config.memory); !valid) return valid;
  const Choices& choices = config.choices;
  if (choices.batching > Batching::kAdaptive || choices.placement > Placement::kMaxMin ||
      choices.dispatch > Dispatch::kWhenIdle || choices.between > Between::kKeep) {
    return failure(ErrorCode::kInvalidArgument, "a choice names no policy");
  }
  if (choices.between == Between::kKeep && limits.slice_tokens == kWholeRequest) {
    return failure(ErrorCode::kInvalidArgument,
                   "KV can be kept between slices only if there are slices: give slice_tokens");
  }
  return {};
}

const char* to_string(Batching batching) {
  switch (batching) {
    case Batching::kSolo: return "solo";
    case Batching::kFixed: return "fixed";
    case Batching::kSorted: return "sorted";
    case Batching::kAdaptive: return "adaptive";
  }
  return "?";
}

const char* to_string(Placement placement) {
  switch (placement) {
    case Placement::kRoundRobin: return "round_robin";
    case Placement::kLeastLoaded: return "least_loaded";
    case Placement::kPrefixAware: return "prefix";
    case Placement::kMaxMin: return "max_min";
  }
  return "?";
}

const char* to_string(Dispatch dispatch) {
  switch (dispatch) {
    case Dispatch::kAtOnce: return "at_once";
    case Dispatch::kInterval: return "interval";
    case Dispatch::kAdaptiveInterval: return "adaptive_interval";
    case Dispatch::kWhenIdle: return "when_idle";
  }
  return "?";
}

const char* to_string(Between between) { return between == Between::kKeep ? "keep" : "recompute"; }

Result<Placement> placement_of(std::string_view word) {
  std::string words;
  for (const Placement placement : {Placement::kRoundRobin, Placement::kLeastLoaded, Placement::kPrefixAware,
                                    Placement::kMaxMin}) {
    if (word == to_string(placement)) return placement;
    words += words.empty() ? "" : ", ";
    words += to_string(placement);
  }
  return failure(ErrorCode::kInvalidArgument, "no placement '" + std::string(word) + "'; there are " + words);
}

}  // namespace paternoster::fleet
