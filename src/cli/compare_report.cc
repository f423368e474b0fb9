#include "cli/compare_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "base/json_writer.h"
#include "measure/summary_json.h"
#include "report/run_parts.h"

namespace paternoster::cli {
namespace {

using bench::PolicyRun;

const std::vector<std::string> kHead{"preset",   "tok/s",     "TTFT p50", "p95",     "TPOT p50", "p95",     "E2E p95",
                                     "KV peak",  "preempted", "done",     "goodput", "Jain"};

std::string row_name(const PolicyRun& one) { return one.preset + (one.again ? " again" : ""); }

std::vector<std::string> cells_of(const PolicyRun& one) {
  const measure::Summary& summary = one.run.summary;
  const measure::Figures& all = summary.all;
  if (one.refused) return {row_name(one), "did not start"};
  const double done = static_cast<double>(all.completed) / static_cast<double>(std::max<std::uint64_t>(all.total(), 1));
  return {row_name(one),
          fmt::format("{:.1f}", summary.output_rate()),
          duration_text(all.ttft.median()),
          duration_text(all.ttft.percentile(95)),
          duration_text(all.tpot.median()),
          duration_text(all.tpot.percentile(95)),
          duration_text(all.e2e.percentile(95)),
          one.run.server.told ? fmt::format("{:.0f} %", 100 * one.run.server.peak_kv_usage()) : "–",
          one.run.server.told ? fmt::format("{:.0f}", one.run.server.preemptions) : "–",
          fmt::format("{:.0f} %", 100 * done),
          fmt::format("{:.2f}/s", summary.goodput()),
          fmt::format("{:.2f}", bench::jain_of_speeds(one.run.load.sightings))};
}

// p95 completion of each class, short and long apart.
std::string classes_of(const PolicyRun& one) {
  std::string text;
  for (const auto& [name, figures] : one.run.summary.classes) {
    text += fmt::format("{}{}: TTFT p95 {}, E2E p95 {}", text.empty() ? "" : "; ", name,
                        duration_text(figures.ttft.percentile(95)), duration_text(figures.e2e.percentile(95)));
  }
  return text;
}

std::vector<std::string> load_names(std::span<const PolicyRun> runs) {
  std::vector<std::string> loads;
  for (const PolicyRun& run : runs) {
    if (std::ranges::find(loads, run.load) == loads.end()) loads.push_back(run.load);
  }
  return loads;
}

template <typename Figure>
report::Plot over_streams(const char* title, const char* y_label, std::span<const PolicyRun> runs, Figure figure) {
  report::Plot plot{title, "overlapping requests", y_label, false, false, {}, {}};
  for (const PolicyRun& run : runs) {
    if (run.overlap == 0 || run.refused || run.again) continue;
    auto line = std::ranges::find(plot.lines, run.preset, &report::Line::name);
    if (line == plot.lines.end()) line = plot.lines.insert(line, {run.preset, {}, report::LineStyle::kLine});
    line->points.emplace_back(run.overlap, figure(run.run));
  }
  return plot;
}

void add_plots(report::Document& document, std::span<const PolicyRun> runs) {
  const auto add = [&](report::Plot plot) { document.parts.push_back(std::move(plot)); };
  add(over_streams("Output", "tokens/s", runs, [](const auto& run) { return run.summary.output_rate(); }));
  add(over_streams("Time to first token, p95", "ms", runs,
                   [](const auto& run) { return run.summary.all.ttft.percentile(95) / 1e6; }));
  add(over_streams("Time per output token, p95", "ms", runs,
                   [](const auto& run) { return run.summary.all.tpot.percentile(95) / 1e6; }));
  add(over_streams("Completion, p95", "ms", runs,
                   [](const auto& run) { return run.summary.all.e2e.percentile(95) / 1e6; }));
  add(over_streams("Goodput", "good requests/s", runs, [](const auto& run) { return run.summary.goodput(); }));
  add(over_streams("KV cache, most in use", "share", runs, [](const auto& run) { return run.server.peak_kv_usage(); }));
  add(over_streams("Fairness of speeds", "Jain's index", runs,
                   [](const auto& run) { return bench::jain_of_speeds(run.load.sightings); }));
}

void add_load(report::Document& document, std::span<const PolicyRun> runs, const std::string& load) {
  document.parts.push_back(report::Text{load, report::Text::Kind::kHeading});
  report::Table table{"", kHead, {}};
  report::Table classes{"Classes apart", {"preset", ""}, {}};
  std::vector<report::NamedSummary> all;
  for (const PolicyRun& run : runs) {
    if (run.load != load) continue;
    table.rows.push_back(cells_of(run));
    if (const std::string text = classes_of(run); !text.empty()) classes.rows.push_back({row_name(run), text});
    if (!run.refused && !run.again) all.push_back({run.preset, &run.run.summary, false});
  }
  document.parts.push_back(std::move(table));
  if (!classes.rows.empty()) document.parts.push_back(std::move(classes));
  if (all.empty()) return;
  for (report::Plot& plot : report::latency_plots(all)) document.parts.push_back(std::move(plot));
}

}  // namespace

std::string policies_text(std::span<const PolicyRun> runs, const std::string& load) {
  constexpr std::size_t kWidths[] = {12, 7, 9, 9, 9, 9, 9, 8, 10, 6, 8, 5};
  std::string out = load + "\n";
  const auto line = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      out += i == 0 ? fmt::format("  {:<{}}", cells[i], kWidths[i]) : fmt::format(" {:>{}}", cells[i], kWidths[i]);
    }
    out += '\n';
  };
  line(kHead);
  for (const PolicyRun& run : runs) {
    if (run.load == load) line(cells_of(run));
  }
  for (const PolicyRun& run : runs) {
    if (run.load != load || run.refused) continue;
    if (const std::string text = classes_of(run); !text.empty()) out += fmt::format("  {}: {}\n", row_name(run), text);
  }
  return out;
}

std::string settings_text(const Settings& settings) {
  std::string out;
  for (const auto& [name, value] : settings) out += fmt::format("{}: {}\n", name, value);
  return out;
}

report::Document policies_document(std::span<const PolicyRun> runs, const bench::PolicyVerdict& verdict,
                                   const Settings& settings) {
  report::Document document{"Schedulers on the same work", "", {}};
  for (const std::string& sentence : verdict.sentences) {
    document.parts.push_back(report::Text{sentence, report::Text::Kind::kVerdict});
  }
  report::Table table{"Settings", {"", ""}, {}};
  for (const auto& [name, value] : settings) table.rows.push_back({name, value});
  document.parts.push_back(std::move(table));
  add_plots(document, runs);
  for (const std::string& load : load_names(runs)) add_load(document, runs, load);
  return document;
}

std::string policy_json(const PolicyRun& run, const Settings& settings) {
  std::string out;
  JsonObject object(out);
  object.field("backend", "paternoster compare").field("preset", run.preset).field("load", run.load);
  object.field("again", run.again).field("started", !run.refused).field("streams", run.overlap);
  for (const auto& [name, value] : settings) {
    std::string quoted;
    append_string(quoted, name);
    object.field(std::string_view(quoted).substr(1, quoted.size() - 2), value);
  }
  if (!run.refused) {
    measure::append_summary(object, run.run.summary);
    object.field("peak_kv_usage", run.run.server.peak_kv_usage())
        .field("server_preemptions", run.run.server.preemptions)
        .field("jain_of_speeds", bench::jain_of_speeds(run.run.load.sightings));
  }
  object.end();
  return out + "\n";
}

}  // namespace paternoster::cli
