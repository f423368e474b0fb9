#include "scheduler/presets.h"

#include <string>

namespace paternoster::scheduler {
namespace {

using enum Boarding;
using enum Order;

constexpr Preset kPresets[] = {
    {"naive",
     {kStaticGlobal, kFcfs, Prefill::kWhole, Relief::kReserve},
     "batches run to the longest answer anybody asked for; the end is told with the batch's"},
    {"static",
     {kStatic, kFcfs, Prefill::kWhole, Relief::kReserve},
     "a batch boards together and closes until all of it has finished"},
    {"window",
     {kWindow, kFcfs, Prefill::kWhole, Relief::kReserve},
     "gathers arrivals for a while, then runs them as one batch"},
    {"orca",
     {kContinuous, kFcfs, Prefill::kWhole, Relief::kReserve},
     "boards every step; whole prompts; the worst case of KV reserved"},
    {"vllm",
     {kContinuous, kFcfs, Prefill::kChunked, Relief::kRecompute},
     "boards every step; prompts in chunks beside decodes; preempts by recompute"},
    {"sarathi",
     {kContinuous, kFcfs, Prefill::kStallFree, Relief::kRecompute},
     "decodes first, prompts get chunks of what is left: streams never stall"},
    {"fastserve",
     {kContinuous, kMultilevel, Prefill::kWhole, Relief::kAuto, Victim::kLeastWork},
     "multi-level feedback: short jobs take the seats of long ones"},
    {"vtc",
     {kContinuous, kFair, Prefill::kChunked, Relief::kRecompute},
     "fair shares between tenants by the tokens they got"},
    {"scls",
     {kSliced, kFcfs, Prefill::kWhole, Relief::kReserve},
     "answers in slices: a batch runs for some tokens, the unfinished return to the pool"},
    {"home",
     {kContinuous, kFair, Prefill::kLatencyTarget, Relief::kAuto, Victim::kLeastWork},
     "for few users: gaps between tokens within a target, fair between people"},
    {"cluster",
     {kContinuous, kPriority, Prefill::kStallFree, Relief::kAuto, Victim::kLeastWork},
     "for many: classes with ageing, streams that never stall"},
};

}  // namespace

std::span<const Preset> presets() { return kPresets; }

std::string preset_names() {
  std::string names;
  for (const Preset& row : kPresets) {
    if (!names.empty()) names += ", ";
    names += row.name;
  }
  return names;
}

Result<Choices> choices_of(std::string_view preset) {
  for (const Preset& row : kPresets) {
    if (row.name == preset) return row.choices;
  }
  return failure(ErrorCode::kInvalidArgument,
                 "no preset '" + std::string(preset) + "'; there are " + preset_names());
}

}  // namespace paternoster::scheduler
