#include "fleet/presets.h"

#include <string>

namespace paternoster::fleet {
namespace {

constexpr Preset kPresets[] = {
    {"spread",
     {Batching::kSolo, Placement::kLeastLoaded, Dispatch::kAtOnce, Between::kRecompute},
     false,
     "every request at once to the least loaded engine, which batches continuously"},
    {"prefix",
     {Batching::kSolo, Placement::kPrefixAware, Dispatch::kAtOnce, Between::kRecompute},
     false,
     "the same, but first to whoever knows the prefix, within bounded slack"},
    {"sls",
     {Batching::kFixed, Placement::kRoundRobin, Dispatch::kInterval, Between::kRecompute},
     false,
     "sequence level: fixed batches in order of arrival, run to their longest, in turn"},
    {"so",
     {Batching::kFixed, Placement::kRoundRobin, Dispatch::kInterval, Between::kRecompute},
     true,
     "slices only"},
    {"pm",
     {Batching::kSorted, Placement::kRoundRobin, Dispatch::kInterval, Between::kRecompute},
     true,
     "slices, and padding mitigation: batches of similar length"},
    {"ab",
     {Batching::kAdaptive, Placement::kRoundRobin, Dispatch::kInterval, Between::kRecompute},
     true,
     "slices, and adaptive batching by dynamic programming"},
    {"lb",
     {Batching::kAdaptive, Placement::kMaxMin, Dispatch::kInterval, Between::kRecompute},
     true,
     "the same, and load balancing by max-min offloading"},
    {"scls",
     {Batching::kAdaptive, Placement::kMaxMin, Dispatch::kAdaptiveInterval, Between::kRecompute},
     true,
     "SCLS: the same, and the adaptive interval"},
    {"scls_keep",
     {Batching::kAdaptive, Placement::kMaxMin, Dispatch::kAdaptiveInterval, Between::kKeep},
     true,
     "SCLS with paged KV kept between slices, and so on the same engine"},
    {"cluster",
     {Batching::kSolo, Placement::kPrefixAware, Dispatch::kAtOnce, Between::kRecompute},
     true,
     "slices over engines that batch continuously: on where it was, unless that has more to do than others"},
};

}  // namespace

std::span<const Preset> presets() { return kPresets; }

std::string preset_names() {
  std::string names;
  for (const Preset& row : kPresets) {
    names += names.empty() ? "" : ", ";
    names += row.name;
  }
  return names;
}

std::string_view preset_with(std::string_view scheduler_preset) {
  return scheduler_preset == "scls" || scheduler_preset == "cluster" ? scheduler_preset : "spread";
}

Result<Config> config_of(std::string_view preset, const Limits& limits) {
  for (const Preset& row : kPresets) {
    if (row.name == preset) {
      Config config;
      config.choices = row.choices;
      config.limits = limits;
      if (!row.sliced) config.limits.slice_tokens = kWholeRequest;
      return config;
    }
  }
  return failure(ErrorCode::kInvalidArgument,
                 "no fleet preset '" + std::string(preset) + "'; there are " + preset_names());
}

}  // namespace paternoster::fleet
