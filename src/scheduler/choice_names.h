// Choices by their names, as flags and files spell them: a preset's row, and single choices over it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "scheduler/choices.h"

namespace paternoster::scheduler {

// Empty: what the preset says.
struct ChoiceNames {
  std::string boarding;
  std::string order;
  std::string prefill;
  std::string relief;
  std::string victim;
};

// The error lists the names there are. What does not go together is found by validate().
Result<Choices> choose(std::string_view preset, const ChoiceNames& names);

// "fcfs, priority, ...": for help.
std::string boarding_names();
std::string order_names();
std::string prefill_names();
std::string relief_names();
std::string victim_names();

}  // namespace paternoster::scheduler
