// The flags that say how an engine schedules, the same for simulate and advise: presets, single choices
// over them, limits. What is not given comes from the profile of the engine.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cost/profile.h"
#include "scheduler/choice_names.h"
#include "scheduler/choices.h"

namespace paternoster::cli {

struct SchedulerOptions {
  std::vector<std::string> presets;
  scheduler::ChoiceNames choices;
  std::optional<std::int32_t> max_seqs;
  std::optional<std::int32_t> step_tokens;
  std::optional<std::int32_t> max_len;
  std::optional<std::int64_t> kv_tokens;
  std::optional<std::int32_t> block_size;
  std::optional<std::int32_t> max_queue;
  bool prefix_cache = true;
  std::optional<std::int64_t> window, itl_target, ageing, promotion, quantum;  // ns
  std::optional<std::int32_t> slice;
  std::optional<std::int64_t> swap_tokens;
};

void add_scheduler_options(CLI::App& app, SchedulerOptions& options);

// What was given and none of these presets reads; none: all is well. `fleet_slices`: something else reads the slice.
std::optional<std::string> unread_setting(const SchedulerOptions& options, std::span<const std::string> presets,
                                          bool fleet_slices = false);

// The choices and settings that were given, as `serve` takes them: " --order fair --max-len 4096".
std::string serve_flags(const SchedulerOptions& options);

Result<scheduler::Config> configure(const SchedulerOptions& options, const std::string& preset,
                                    const cost::Profile& profile);

}  // namespace paternoster::cli
