// What a bench tells: on the terminal, and as a report with plots.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/sweep.h"
#include "measure/request_record.h"
#include "measure/summary.h"
#include "report/document.h"

namespace paternoster::cli {

// A run's figures, intervals and notes.
std::string run_text(const bench::BenchRun& run);
// One line a load, and what follows from them. `closed`: loads are streams.
std::string sweep_text(std::span<const bench::SweepPoint> points, bool closed);

// Another run's records, folded: "simulated" if a simulator made them.
struct Overlay {
  std::string name;
  measure::Summary summary;
  bool simulated = false;
};
Result<Overlay> read_overlay(const std::string& path, const measure::Objectives& objectives);

using Settings = std::vector<std::pair<std::string, std::string>>;
report::Document run_document(const bench::BenchRun& run, const Settings& settings, std::span<const Overlay> overlays);
report::Document sweep_document(std::span<const bench::SweepPoint> points, bool closed, const Settings& settings);

}  // namespace paternoster::cli
