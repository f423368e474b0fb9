// The cells of those who are served together: all of them, a class, or a tenant.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "measure/metrics.h"

namespace paternoster::measure {

enum class Latency : std::uint8_t { kTtft, kItl, kTpot, kE2e, kQueue };
inline constexpr std::size_t kLatencies = 5;

struct GroupCells {
  // All together: under vLLM's names, which know no classes.
  explicit GroupCells(Registry& registry);
  // One group: `label` is "class" or "tenant", `prefix` what the families' names begin with.
  GroupCells(Registry& registry, std::string_view prefix, std::string_view label, std::string_view name);

  Histogram& of(Latency latency) { return *latencies[static_cast<std::size_t>(latency)]; }

  std::array<Histogram*, kLatencies> latencies{};
  Histogram* service = nullptr;  // a request's; null for all together
};

}  // namespace paternoster::measure
