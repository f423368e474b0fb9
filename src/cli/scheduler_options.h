// The flags that say how an engine schedules, the same for simulate and advise: presets, single choices
// over them, limits. What is not given comes from the profile of the engine.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cost/profile.h"
#include "scheduler/choices.h"

namespace paternoster::cli {

struct SchedulerOptions {
  std::vector<std::string> presets;
  std::vector<std::pair<std::string, std::string>> choices;  // name and word, in the order given
  std::optional<std::int32_t> max_seqs;
  std::optional<std::int32_t> step_tokens;
  std::optional<std::int32_t> max_len;
  std::optional<std::int64_t> kv_tokens;
  std::optional<std::int32_t> block_size;
  std::optional<std::int32_t> max_queue;
  bool prefix_cache = true;
  std::optional<std::int64_t> window, itl_target, ageing, promotion, quantum;  // ns
  std::optional<std::int32_t> slice;
};

void add_scheduler_options(CLI::App& app, SchedulerOptions& options);

// Sets one choice by its name and word; the error lists the words there are.
Result<void> set_choice(scheduler::Choices& choices, std::string_view name, std::string_view word);

Result<scheduler::Config> configure(const SchedulerOptions& options, const std::string& preset,
                                    const cost::Profile& profile);

}  // namespace paternoster::cli
