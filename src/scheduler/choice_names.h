// Choices by their names, as flags and files spell them: a preset's row, and single choices over it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "scheduler/choices.h"

namespace paternoster::scheduler {

// None: what the preset says.
struct ChoiceNames {
  std::optional<std::string> boarding;
  std::optional<std::string> order;
  std::optional<std::string> prefill;
  std::optional<std::string> relief;
  std::optional<std::string> victim;
  std::optional<std::string> speculation;
};

// The error lists the names there are. What does not go together is found by validate().
Result<Choices> choose(std::string_view preset, const ChoiceNames& names);

// "fcfs, priority, ...": for help.
std::string boarding_names();
std::string order_names();
std::string prefill_names();
std::string relief_names();
std::string victim_names();
std::string speculation_names();

}  // namespace paternoster::scheduler
