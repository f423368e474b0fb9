#include "cli/bench_report.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/duration.h"
#include "cli/figures_table.h"
#include "measure/summary_json.h"
#include "report/run_parts.h"

namespace paternoster::cli {
namespace {

using bench::BenchRun;
using bench::SweepPoint;

std::string between(const bench::Interval& interval) {
  return fmt::format("{} to {}", duration_text(interval.low * 1e6), duration_text(interval.high * 1e6));
}

// The intervals worth a line on the terminal.
std::string intervals_text(const BenchRun& run) {
  std::string out;
  for (const auto& [key, shown] : {std::pair{"median_ttft_ms", "TTFT p50"}, {"p95_ttft_ms", "TTFT p95"},
                                   {"median_tpot_ms", "TPOT p50"}, {"median_e2el_ms", "E2E p50"}}) {
    const auto found = run.intervals.find(key);
    if (found == run.intervals.end()) continue;
    out += fmt::format("{}{} {}", out.empty() ? "95 % intervals: " : "; ", shown, between(found->second));
  }
  return out.empty() ? out : out + "\n";
}

std::string load_text(double load, bool closed) {
  return closed ? fmt::format("{:.0f} streams", load) : fmt::format("{:.3g} requests/s", load);
}

std::string sweep_verdict(std::span<const SweepPoint> points, bool closed) {
  const bench::SweepVerdict verdict = bench::judge(points, closed);
  const bool judged = !points.empty() && !points.front().run.summary.objectives.empty();
  std::string out;
  if (verdict.knee) {
    out += closed ? fmt::format("Knee: {} give 90 % of the best output rate.", load_text(*verdict.knee, true))
                  : fmt::format("Knee: the server keeps up to {}.", load_text(*verdict.knee, false));
  } else {
    out += "Knee: the server kept up with none of these loads.";
  }
  if (judged && verdict.best) {
    out += fmt::format(" The SLO {} is met up to {}.", to_string(points.front().run.summary.objectives),
                       load_text(*verdict.best, closed));
  } else if (judged) {
    out += fmt::format(" The SLO {} is met by none of them.", to_string(points.front().run.summary.objectives));
  }
  if (verdict.open_ended) out += " The limit lies above the highest load.";
  return out;
}

void add_notes(report::Document& document, const BenchRun& run) {
  for (const bench::Note& note : run.notes) {
    document.parts.push_back(report::Text{
        note.text, note.warns ? report::Text::Kind::kWarning : report::Text::Kind::kPlain});
  }
}

void add_settings(report::Document& document, const Settings& settings) {
  report::Table table{"Settings", {"", ""}, {}};
  for (const auto& [name, value] : settings) table.rows.push_back({name, value});
  document.parts.push_back(std::move(table));
}

std::vector<measure::RequestRecord> records_of(const BenchRun& run) {
  std::vector<measure::RequestRecord> records;
  for (const bench::Sighting& sighting : run.load.sightings) records.push_back(sighting.record);
  return records;
}

// What the server's own metrics said: riders, and how full its KV cache was.
std::vector<report::Plot> server_plots(const BenchRun& run) {
  if (run.server.samples.empty()) return {};
  report::Plot riders{"The server's own count", "time, s", "requests", false, false, {}, {}};
  report::Plot cache{"The server's KV cache", "time, s", "share in use", false, false, {}, {}};
  report::Line running{"running", {}, report::LineStyle::kStep};
  report::Line waiting{"waiting", {}, report::LineStyle::kStep};
  report::Line used{"in use", {}, report::LineStyle::kStep};
  for (const bench::ServerSample& sample : run.server.samples) {
    const double at = static_cast<double>(sample.at_ns) / 1e9;
    running.points.emplace_back(at, sample.running);
    waiting.points.emplace_back(at, sample.waiting);
    used.points.emplace_back(at, sample.kv_usage);
  }
  riders.lines = {std::move(running), std::move(waiting)};
  cache.lines = {std::move(used)};
  return {std::move(riders), std::move(cache)};
}

report::Table intervals_table(const BenchRun& run) {
  report::Table table{"95 % intervals", {"", "from", "to"}, {}};
  for (const auto& [key, interval] : run.intervals) {
    table.rows.push_back({key, fmt::format("{:.2f}", interval.low), fmt::format("{:.2f}", interval.high)});
  }
  return table;
}

// A figure of each run over the load.
template <typename Figure>
report::Line over_load(const std::string& name, std::span<const SweepPoint> points, Figure figure) {
  report::Line line{name, {}, report::LineStyle::kLine};
  for (const SweepPoint& point : points) line.points.emplace_back(point.load, figure(point.run.summary));
  return line;
}

report::Plot latency_over_load(const char* title, std::span<const SweepPoint> points, measure::Metric metric,
                               const std::string& x_label) {
  report::Plot plot{title, x_label, "ms", false, true, {}, {}};
  for (const double percent : {50.0, 95.0, 99.0}) {
    plot.lines.push_back(over_load(fmt::format("p{:.0f}", percent), points, [&](const measure::Summary& summary) {
      return summary.all.of(metric).percentile(percent) / 1e6;
    }));
  }
  for (const measure::Objective& objective : points.front().run.summary.objectives) {
    if (objective.metric != metric) continue;
    plot.marks.push_back({static_cast<double>(objective.limit_ns) / 1e6, "SLO", false});
  }
  return plot;
}

}  // namespace

std::string run_text(const BenchRun& run) {
  std::string out = figures_table(run.summary) + intervals_text(run);
  for (const bench::Note& note : run.notes) out += fmt::format("{}: {}\n", note.warns ? "Beware" : "Note", note.text);
  return out;
}

std::string sweep_text(std::span<const SweepPoint> points, bool closed) {
  std::string out = fmt::format("{:>10} {:>9} {:>9} {:>10} {:>9} {:>9} {:>9} {:>9} {:>7} {:>6}\n",
                                closed ? "streams" : "offered/s", "done/s", "tok/s", "TTFT p50", "p95", "TPOT p50",
                                "p95",
                                "E2E p95", "failed", "SLO");
  for (const SweepPoint& point : points) {
    const measure::Summary& summary = point.run.summary;
    const measure::Figures& all = summary.all;
    out += fmt::format("{:>10.3g} {:>9.3g} {:>9.1f} {:>10} {:>9} {:>9} {:>9} {:>9} {:>7} {:>6}\n", point.load,
                       summary.request_rate(), summary.output_rate(), duration_text(all.ttft.median()),
                       duration_text(all.ttft.percentile(95)), duration_text(all.tpot.median()),
                       duration_text(all.tpot.percentile(95)), duration_text(all.e2e.percentile(95)),
                       all.failed + all.refused,
                       summary.objectives.empty() ? "–" : summary.meets_objectives() ? "met" : "missed");
  }
  return out + sweep_verdict(points, closed) + "\n";
}

Result<Overlay> read_overlay(const std::string& path, const measure::Objectives& objectives) {
  std::ifstream in(path);
  if (!in) return failure(ErrorCode::kNotFound, "cannot read " + path);
  measure::Summarizer summarizer(objectives);
  std::int64_t end_ns = 0;
  bool stamped = false;  // a generator keeps when it sent
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    const auto record = measure::parse_record(line);
    if (!record) return failure(record.error().code, fmt::format("{}:{}: {}", path, number, record.error().message));
    summarizer.add(*record);
    end_ns = std::max(end_ns, record->ended_ns);
    stamped = stamped || !record->arrivals.empty();
  }
  return Overlay{std::filesystem::path(path).stem().string(), summarizer.finish(static_cast<double>(end_ns)), !stamped};
}

report::Document run_document(const BenchRun& run, const Settings& settings, std::span<const Overlay> overlays) {
  report::Document document{run.label.empty() ? "Benchmark" : run.label, "", {}};
  add_notes(document, run);
  std::vector<report::NamedSummary> all{{run.label.empty() ? "this run" : run.label, &run.summary, false}};
  for (const Overlay& overlay : overlays) all.push_back({overlay.name, &overlay.summary, overlay.simulated});
  document.parts.push_back(report::figures_table(all));
  for (report::Plot& plot : report::latency_plots(all)) document.parts.push_back(std::move(plot));
  const auto records = records_of(run);
  for (report::Plot& plot : report::load_plots(records)) document.parts.push_back(std::move(plot));
  for (report::Plot& plot : server_plots(run)) document.parts.push_back(std::move(plot));
  document.parts.push_back(report::request_timeline(records));
  for (report::Table& table : report::parts_tables(all.front())) document.parts.push_back(std::move(table));
  document.parts.push_back(intervals_table(run));
  add_settings(document, settings);
  return document;
}

report::Document sweep_document(std::span<const SweepPoint> points, bool closed, const Settings& settings) {
  report::Document document{"Sweep", "", {}};
  document.parts.push_back(report::Text{sweep_verdict(points, closed), report::Text::Kind::kVerdict});
  const std::string x_label = closed ? "streams" : "requests a second offered";
  report::Plot rates{"Throughput", x_label, "per second", false, false, {}, {}};
  rates.lines.push_back(over_load("output tokens", points, [](const auto& summary) { return summary.output_rate(); }));
  document.parts.push_back(std::move(rates));
  document.parts.push_back(latency_over_load("Time to first token", points, measure::Metric::kTtft, x_label));
  document.parts.push_back(latency_over_load("Time per output token", points, measure::Metric::kTpot, x_label));
  document.parts.push_back(latency_over_load("Time to last token", points, measure::Metric::kE2e, x_label));
  std::vector<report::NamedSummary> all;
  for (const SweepPoint& point : points) all.push_back({load_text(point.load, closed), &point.run.summary, false});
  document.parts.push_back(report::figures_table(all));
  for (report::Plot& plot : report::latency_plots(all)) document.parts.push_back(std::move(plot));
  for (const SweepPoint& point : points) {
    if (point.run.notes.empty()) continue;
    document.parts.push_back(report::Text{load_text(point.load, closed), report::Text::Kind::kHeading});
    add_notes(document, point.run);
  }
  add_settings(document, settings);
  return document;
}

}  // namespace paternoster::cli
