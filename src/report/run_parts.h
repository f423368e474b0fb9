// The parts that every report of a run has, real or simulated: figures side by side, distributions laid
// over each other, who waited when. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure/request_record.h"
#include "measure/summary.h"
#include "report/document.h"

namespace paternoster::report {

struct NamedSummary {
  std::string name;
  const measure::Summary* summary = nullptr;
  bool simulated = false;  // drawn dashed; a real run of the same name has the same colour
};

// One column a run: counts, rates, latencies, and the objective if there is one.
Table figures_table(std::span<const NamedSummary> runs);
// The same of each class, or tenant, one row each; empty if the run has but one.
std::vector<Table> parts_tables(const NamedSummary& run);

// The distributions of TTFT, TPOT, gaps and E2E; classes of one run apart when it has several.
std::vector<Plot> latency_plots(std::span<const NamedSummary> runs);

// Requests under way and waiting for their first token, and output tokens a second, over the run.
std::vector<Plot> load_plots(std::span<const measure::RequestRecord> records);

// The first `most` requests as rows.
Timeline request_timeline(std::span<const measure::RequestRecord> records, std::size_t most = 200);

}  // namespace paternoster::report
