#include "scheduler/presets.h"

#include <string>

namespace paternoster::scheduler {
namespace {

constexpr Preset kPresets[] = {
    {"static",
     {Boarding::kStatic, Order::kFcfs, Prefill::kWhole, Relief::kReserve},
     "a batch boards together and closes until all of it has finished"},
    {"orca",
     {Boarding::kContinuous, Order::kFcfs, Prefill::kWhole, Relief::kReserve},
     "boards every step; whole prompts; the worst case of KV reserved"},
    {"vllm",
     {Boarding::kContinuous, Order::kFcfs, Prefill::kChunked, Relief::kRecompute},
     "boards every step; prompts in chunks beside decodes; preempts by recompute"},
};

}  // namespace

std::span<const Preset> presets() { return kPresets; }

Result<Choices> choices_of(std::string_view preset) {
  std::string names;
  for (const Preset& row : kPresets) {
    if (row.name == preset) return row.choices;
    names += names.empty() ? "" : ", ";
    names += row.name;
  }
  return failure(ErrorCode::kInvalidArgument,
                 "no preset '" + std::string(preset) + "'; there are " + names);
}

}  // namespace paternoster::scheduler
