// What a comparison of presets tells: tables, plots and its verdict.
#pragma once

#include <span>
#include <string>

#include "bench/policies.h"
#include "cli/bench_report.h"
#include "report/document.h"

namespace paternoster::cli {

// What all runs have in common, one line each: no figure is worth anything without it.
std::string settings_text(const Settings& settings);

// One line a preset of this load.
std::string policies_text(std::span<const bench::PolicyRun> runs, const std::string& load);

report::Document policies_document(std::span<const bench::PolicyRun> runs, const bench::PolicyVerdict& verdict,
                                   const Settings& settings);

// One object: the figures of one run, with what only a comparison has.
std::string policy_json(const bench::PolicyRun& run, const Settings& settings);

}  // namespace paternoster::cli
