// The HTML reports of simulate and advise, put together from the parts that bench's are made of.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure/request_record.h"
#include "measure/timeline.h"
#include "report/document.h"
#include "simulator/advisor.h"
#include "simulator/bands.h"

namespace paternoster::cli {

struct SimulatedRun {
  std::string name;
  const measure::Summary* summary = nullptr;
  const measure::Timeline* timeline = nullptr;
  std::string verdict;
};

// `records`: the first requests of the first run, for the timeline.
report::Document simulate_report(const std::string& subtitle, std::span<const SimulatedRun> runs,
                                 std::span<const measure::RequestRecord> records,
                                 const std::vector<std::string>& bands);

report::Document advise_report(const std::string& subtitle, const simulator::Advice& advice,
                               const std::string& command, const std::string& best, const std::string& second);

}  // namespace paternoster::cli
