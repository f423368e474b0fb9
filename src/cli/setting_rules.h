// Which settings of the scheduler its choices read. A setting that nothing reads would be believed to do
// something, so serve, simulate and advise refuse it.
#pragma once

#include <string_view>
#include <vector>

#include "scheduler/choices.h"

namespace paternoster::cli {

struct SettingRule {
  std::string_view flag;
  bool read;
  std::string_view needs;
};

std::vector<SettingRule> setting_rules(const scheduler::Choices& choices);

}  // namespace paternoster::cli
