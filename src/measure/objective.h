// A service-level objective as a person writes it: "ttft=1s,itl=80ms@p95". Each part limits one
// metric; a part without "@pN" means 95 of 100.
//
// Two meanings, named apart: a *run* meets an objective when its percentile of all values is within the
// limit; a *request* is good when each of its own values is (its largest gap, for itl), which is what
// attainment and request goodput count.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/duration.h"
#include "base/result.h"
#include "measure/request_record.h"

namespace paternoster::measure {

enum class Metric : std::uint8_t { kTtft, kTpot, kItl, kE2e };
inline constexpr Metric kMetrics[] = {Metric::kTtft, Metric::kTpot, Metric::kItl, Metric::kE2e};

const char* to_string(Metric metric);  // "ttft", "tpot", "itl", "e2el" (vLLM's word)

struct Objective {
  Metric metric = Metric::kTtft;
  std::int64_t limit_ns = 0;
  double percent = 95;
};

using Objectives = std::vector<Objective>;

Result<Objectives> parse_objectives(std::string_view text);
std::string to_string(const Objectives& objectives);

bool is_good(const RequestRecord& record, const Objectives& objectives);

}  // namespace paternoster::measure
