// The ladder from sequence-level scheduling to SCLS, one choice a rung, as rows of one table: what
// its paper takes apart in the ablation, so that it can be repeated (arXiv 2406.13511, evaluation).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fleet/choices.h"

namespace paternoster::fleet {

struct Preset {
  std::string_view name;
  Choices choices;
  bool sliced;               // false: slice_tokens is kWholeRequest
  std::string_view summary;  // one line for --help and docs
};

std::span<const Preset> presets();
std::string preset_names();  // "spread, prefix, ...": for help

// The row that goes with a preset of the engines' (scheduler/presets.h).
std::string_view preset_with(std::string_view scheduler_preset);

// `limits.slice_tokens` is what sliced presets use. The error lists the names there are.
Result<Config> config_of(std::string_view preset, const Limits& limits);

}  // namespace paternoster::fleet
