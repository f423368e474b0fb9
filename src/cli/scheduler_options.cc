#include "cli/scheduler_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>

#include "cli/duration_option.h"
#include "cli/setting_rules.h"
#include "scheduler/presets.h"

namespace paternoster::cli {
namespace {

constexpr std::int32_t kMostTokens = std::numeric_limits<std::int32_t>::max();
// A simulation turns nobody away unless it is told to: a queue that grows is what it is to show.
constexpr std::int32_t kUnboundedQueue = 1 << 30;
constexpr std::int64_t kMostSwapBlocks = 1 << 28;  // the scheduler's own bound

struct Given {
  std::string_view flag;  // of serve, without dashes
  std::string value;
};

std::vector<Given> given_settings(const SchedulerOptions& options) {
  std::vector<Given> given;
  const auto add_time = [&](std::string_view flag, const std::optional<std::int64_t>& ns) {
    if (ns) given.push_back({flag, fmt::format("{:.6g}ms", static_cast<double>(*ns) / 1e6)});
  };
  add_time("--window", options.window);
  add_time("--itl-target", options.itl_target);
  add_time("--ageing", options.ageing);
  add_time("--promotion", options.promotion);
  add_time("--quantum", options.quantum);
  if (options.slice) given.push_back({"--slice-tokens", std::to_string(*options.slice)});
  if (options.swap_tokens) given.push_back({"--swap-tokens", std::to_string(*options.swap_tokens)});
  return given;
}

}  // namespace

void add_scheduler_options(CLI::App& app, SchedulerOptions& options) {
  const std::string group = "Scheduler";
  app.add_option("--preset", options.presets, "one, or several to compare: " + scheduler::preset_names())
      ->delimiter(',')
      ->group(group);
  scheduler::ChoiceNames& choices = options.choices;
  const auto add_choice = [&](const char* flag, auto& to, const char* help, const std::string& names) {
    app.add_option(flag, to, std::string(help) + ": " + names)->group(group);
  };
  add_choice("--boarding", choices.boarding, "when sequences get on, whatever the preset", scheduler::boarding_names());
  add_choice("--order", choices.order, "who is next", scheduler::order_names());
  add_choice("--prefill", choices.prefill, "how prompts share a step", scheduler::prefill_names());
  add_choice("--relief", choices.relief, "what happens when KV is short", scheduler::relief_names());
  add_choice("--victim", choices.victim, "who then loses the seat", scheduler::victim_names());
  const auto add_time = [&](const char* flag, std::optional<std::int64_t>& to_ns, const char* help) {
    add_duration(app, flag, to_ns, help)->group(group);
  };
  add_time("--window", options.window, "boarding window: how long the first of a unit waits for others");
  add_time("--itl-target", options.itl_target, "prefill latency_target: the longest gap of a running stream");
  add_time("--ageing", options.ageing, "order priority: how much later one class less urgent counts");
  add_time("--promotion", options.promotion, "shortest, deadline, multilevel: nobody new overtakes after it");
  add_time("--quantum", options.quantum, "order multilevel: of the highest level");
  app.add_option("--slice-tokens", options.slice, "boarding sliced, and fleets that slice: output tokens of a slice")
      ->check(CLI::Range(1, 1 << 20))
      ->group(group);
  app.add_option("--max-seqs", options.max_seqs, "seats: sequences that run at once")
      ->check(CLI::Range(1, 1 << 16))
      ->group(group);
  app.add_option("--step-tokens", options.step_tokens, "most tokens computed in a step")
      ->check(CLI::Range(1, 1 << 24))
      ->group(group);
  app.add_option("--max-len", options.max_len, "context of a sequence in tokens")
      ->check(CLI::Range(2, 1 << 24))
      ->group(group);
  app.add_option("--kv-tokens", options.kv_tokens, "size of the KV cache in tokens")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 36))
      ->group(group);
  app.add_option("--block-size", options.block_size, "tokens a KV block")
      ->check(CLI::Range(1, 1 << 12))
      ->group(group);
  app.add_option("--swap-tokens", options.swap_tokens,
                 "relief swap and auto: host memory for KV in tokens; otherwise as much as the cache has")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 36))
      ->group(group);
  app.add_option("--max-queue", options.max_queue, "most requests that wait; otherwise nobody is turned away")
      ->check(CLI::Range(1, kMostTokens))
      ->group(group);
  app.add_flag("!--no-prefix-cache", options.prefix_cache, "share no prefixes")->group(group);
}

std::optional<std::string> unread_setting(const SchedulerOptions& options, std::span<const std::string> presets,
                                          bool fleet_slices) {
  for (const Given& one : given_settings(options)) {
    bool read = fleet_slices && one.flag == "--slice-tokens";
    std::string_view needs;
    for (const std::string& preset : presets) {
      const auto choices = scheduler::choose(preset, options.choices);
      if (!choices) return choices.error().message;
      const auto rules = setting_rules(*choices);
      const auto rule = std::ranges::find(rules, one.flag, &SettingRule::flag);
      read = read || rule->read;
      needs = rule->needs;
    }
    if (!read) return fmt::format("{} has an effect only with {}, or a preset that has it", one.flag, needs);
  }
  return std::nullopt;
}

std::string serve_flags(const SchedulerOptions& options) {
  std::string text;
  const auto add = [&](const char* flag, const auto& value) {
    if (value) text += fmt::format(" {} {}", flag, *value);
  };
  add("--boarding", options.choices.boarding);
  add("--order", options.choices.order);
  add("--prefill", options.choices.prefill);
  add("--relief", options.choices.relief);
  add("--victim", options.choices.victim);
  for (const Given& one : given_settings(options)) {
    // Those two are of the candidate, or in other units there.
    if (one.flag != "--slice-tokens" && one.flag != "--swap-tokens") text += fmt::format(" {} {}", one.flag, one.value);
  }
  add("--max-len", options.max_len);
  add("--max-queue", options.max_queue);
  return text;
}

Result<scheduler::Config> configure(const SchedulerOptions& options, const std::string& preset,
                                    const cost::Profile& profile) {
  scheduler::Config config;
  const auto choices = scheduler::choose(preset, options.choices);
  if (!choices) return std::unexpected(choices.error());
  config.choices = *choices;
  scheduler::Limits& limits = config.limits;
  limits.max_seqs = options.max_seqs.value_or(profile.max_seqs);
  limits.step_tokens = options.step_tokens.value_or(std::max(profile.step_tokens, limits.max_seqs));
  limits.max_len = options.max_len.value_or(profile.max_len);
  limits.block_size = options.block_size.value_or(profile.block_size);
  limits.max_queue = options.max_queue.value_or(kUnboundedQueue);
  limits.prefix_cache = options.prefix_cache;
  const std::int64_t blocks = options.kv_tokens.value_or(profile.kv_tokens) / limits.block_size;
  if (blocks < 1 || blocks > kMostTokens) {
    return failure(ErrorCode::kInvalidArgument, "the KV cache must hold at least one block");
  }
  limits.num_blocks = static_cast<std::int32_t>(blocks);
  const bool swaps = choices->relief == scheduler::Relief::kSwap || choices->relief == scheduler::Relief::kAuto;
  if (swaps) {
    const std::int64_t room = options.swap_tokens ? *options.swap_tokens / limits.block_size : blocks;
    limits.swap_blocks = static_cast<std::int32_t>(std::min<std::int64_t>(room, kMostSwapBlocks));
  }
  scheduler::Tuning& tuning = config.tuning;
  tuning.window_ns = options.window.value_or(tuning.window_ns);
  tuning.itl_target_ns = options.itl_target.value_or(tuning.itl_target_ns);
  tuning.ageing_ns = options.ageing.value_or(tuning.ageing_ns);
  tuning.promotion_ns = options.promotion.value_or(tuning.promotion_ns);
  tuning.quantum_ns = options.quantum.value_or(tuning.quantum_ns);
  tuning.slice_tokens = options.slice.value_or(tuning.slice_tokens);
  config.cost = cost::scheduler_cost(profile.model.terms);
  config.cost.step_ns += profile.model.step_overhead_ns;
  config.cost.swap_block_ns = profile.model.swap_block_ns;
  if (auto valid = scheduler::validate(config); !valid) return std::unexpected(valid.error());
  return config;
}

}  // namespace paternoster::cli
