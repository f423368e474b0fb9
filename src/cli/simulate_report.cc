#include "cli/simulate_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "report/run_parts.h"

namespace paternoster::cli {
namespace {

using measure::Timeline;

// One plot over time, a line a run.
template <typename Value>
report::Plot over_time(const char* title, const char* label, std::span<const SimulatedRun> runs, Value value) {
  report::Plot plot;
  plot.title = title;
  plot.x_label = "time, s";
  plot.y_label = label;
  for (const SimulatedRun& run : runs) {
    report::Line line{run.name, {}, report::LineStyle::kStep};
    for (const Timeline::Point& point : run.timeline->points()) {
      line.points.emplace_back(static_cast<double>(point.begin_ns) / 1e9, value(point, run.timeline->width_s()));
    }
    plot.lines.push_back(std::move(line));
  }
  return plot;
}

void add_time_plots(report::Document& document, std::span<const SimulatedRun> runs) {
  document.parts.push_back(over_time("Running", "sequences with a seat", runs,
                                     [](const auto& point, double) { return point.moment.running; }));
  document.parts.push_back(over_time("Queue", "sequences without a seat", runs,
                                     [](const auto& point, double) { return point.moment.waiting; }));
  document.parts.push_back(over_time("KV cache", "blocks in use, %", runs,
                                     [](const auto& point, double) { return 100 * point.moment.kv_used; }));
  document.parts.push_back(over_time("Output", "tokens/s", runs, [](const auto& point, double width_s) {
    return point.moment.output_tokens / width_s;
  }));
}

std::string slice_text(const simulator::Tried& tried) {
  const scheduler::Boarding boarding = tried.candidate.config.choices.boarding;
  const bool sliced = boarding == scheduler::Boarding::kSliced || boarding == scheduler::Boarding::kSlicedKeep;
  return sliced ? std::to_string(tried.candidate.config.tuning.slice_tokens) : "";
}

}  // namespace

report::Document simulate_report(const std::string& subtitle, std::span<const SimulatedRun> runs,
                                 std::span<const measure::RequestRecord> records,
                                 const std::vector<std::string>& bands) {
  report::Document document;
  document.title = "Simulated";
  document.subtitle = subtitle;
  std::vector<report::NamedSummary> named;
  for (const SimulatedRun& run : runs) {
    document.parts.push_back(report::Text{run.name + ": " + run.verdict, report::Text::Kind::kVerdict});
    named.push_back({run.name, run.summary, runs.size() == 1});
  }
  for (const std::string& line : bands) document.parts.push_back(report::Text{line});
  document.parts.push_back(report::figures_table(named));
  for (const report::NamedSummary& run : named) {
    for (report::Table& table : report::parts_tables(run)) document.parts.push_back(std::move(table));
  }
  for (report::Plot& plot : report::latency_plots(named)) document.parts.push_back(std::move(plot));
  add_time_plots(document, runs);
  if (!records.empty()) document.parts.push_back(report::request_timeline(records));
  return document;
}

report::Document advise_report(const std::string& subtitle, const simulator::Advice& advice,
                               const std::string& command, const std::string& best, const std::string& second) {
  report::Document document;
  document.title = "Advice";
  document.subtitle = subtitle;
  document.parts.push_back(report::Text{command, report::Text::Kind::kCode});
  report::Plot frontier;
  frontier.title = "Goodput frontier";
  frontier.x_label = "requests/s";
  frontier.y_label = "requests within the SLO, %";
  frontier.lines = {{best, {}, report::LineStyle::kLine}, {second, {}, report::LineStyle::kDashed}};
  for (const simulator::FrontierPoint& point : advice.frontier) {
    frontier.lines[0].points.emplace_back(point.rate, 100 * point.best);
    frontier.lines[1].points.emplace_back(point.rate, 100 * point.runner_up);
  }
  frontier.marks.push_back({advice.rate, "this load"});
  document.parts.push_back(std::move(frontier));
  report::Table table;
  table.title = "All settings that were tried";
  table.head = {"engines", "preset", "tokens a step", "seats", "slice", "goodput/s", "within the SLO, %", "TTFT p95",
                "ITL p95", "E2E mean"};
  for (const simulator::Tried& one : advice.tried) {
    const scheduler::Limits& limits = one.candidate.config.limits;
    table.rows.push_back({std::to_string(one.candidate.instances), one.candidate.preset,
                          std::to_string(limits.step_tokens), std::to_string(limits.max_seqs), slice_text(one),
                          fmt::format("{:.3g}", one.goodput), fmt::format("{:.1f}", 100 * one.attainment),
                          duration_text(one.ttft_p95_ns), duration_text(one.itl_p95_ns),
                          duration_text(one.mean_e2e_ns)});
  }
  document.parts.push_back(std::move(table));
  return document;
}

}  // namespace paternoster::cli
