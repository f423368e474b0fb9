// Engines of the field as rows of the same orthogonal choices, so that they can be compared on the
// same work. The one table; `--preset` reads it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "scheduler/choices.h"

namespace paternoster::scheduler {

struct Preset {
  std::string_view name;
  Choices choices;
  std::string_view summary;  // one line for --help and docs
};

inline constexpr std::string_view kDefaultPreset = "vllm";

std::span<const Preset> presets();
// "naive, static, ...": for help.
std::string preset_names();

// The error lists the names there are.
Result<Choices> choices_of(std::string_view preset);

}  // namespace paternoster::scheduler
