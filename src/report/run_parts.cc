#include "report/run_parts.h"

#include <algorithm>
#include <cstdio>

namespace paternoster::report {

using measure::Distribution;
using measure::Figures;
using measure::Metric;
using measure::RequestRecord;

namespace {

constexpr double kMs = 1e6;
constexpr std::size_t kCurvePoints = 160;
constexpr double kBins = 120;  // of a run's length, in plots over time

std::string number(double value) {
  char text[32];
  const char* format = value >= 1000 ? "%.0f" : value >= 100 ? "%.1f" : "%.2f";
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string count(std::uint64_t value) { return std::to_string(value); }

struct Name {
  Metric metric;
  const char* shown;
  const char* axis;
};
constexpr Name kNames[] = {{Metric::kTtft, "TTFT", "time to first token, ms"},
                           {Metric::kTpot, "TPOT", "time per output token, ms"},
                           {Metric::kItl, "ITL", "gap between tokens, ms"},
                           {Metric::kE2e, "E2E", "time to last token, ms"}};

std::string name_of(const NamedSummary& run) { return run.simulated ? run.name + " (simulated)" : run.name; }

void add_latency_rows(Table& table, std::span<const NamedSummary> runs) {
  for (const Name& name : kNames) {
    const auto row = [&](const char* statistic, auto value) {
      std::vector<std::string> cells{std::string(name.shown) + " " + statistic + ", ms"};
      for (const NamedSummary& run : runs) {
        const Distribution& values = run.summary->all.of(name.metric);
        cells.push_back(values.empty() ? "–" : number(value(values) / kMs));
      }
      table.rows.push_back(std::move(cells));
    };
    row("mean", [](const Distribution& values) { return values.mean(); });
    row("median", [](const Distribution& values) { return values.median(); });
    row("p95", [](const Distribution& values) { return values.percentile(95); });
    row("p99", [](const Distribution& values) { return values.percentile(99); });
  }
}

Line curve(const std::string& name, const Distribution& values, LineStyle style) {
  Line line{name, {}, style};
  for (const Distribution::Point& point : values.curve(kCurvePoints)) {
    line.points.emplace_back(point.value / kMs, point.share);
  }
  return line;
}

std::vector<Line> curves_of(std::span<const NamedSummary> runs, Metric metric) {
  std::vector<Line> lines;
  for (const NamedSummary& run : runs) {
    const LineStyle style = run.simulated ? LineStyle::kDashed : LineStyle::kLine;
    const std::string prefix = runs.size() > 1 ? run.name + ", " : "";
    if (run.summary->classes.empty()) lines.push_back(curve(run.name, run.summary->all.of(metric), style));
    for (const auto& [name, figures] : run.summary->classes) {
      lines.push_back(curve(prefix + (name.empty() ? "(unnamed)" : name), figures.of(metric), style));
    }
  }
  std::erase_if(lines, [](const Line& line) { return line.points.empty(); });
  return lines;
}

std::vector<std::string> figures_row(const std::string& name, const Figures& figures) {
  return {name,
          count(figures.completed),
          count(figures.refused + figures.failed),
          number(static_cast<double>(figures.output_tokens)),
          number(figures.ttft.median() / kMs),
          number(figures.ttft.percentile(95) / kMs),
          number(figures.tpot.median() / kMs),
          number(figures.tpot.percentile(95) / kMs),
          number(figures.e2e.median() / kMs),
          number(figures.e2e.percentile(95) / kMs),
          number(100 * figures.attainment()) + " %"};
}

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

std::int64_t end_of(std::span<const RequestRecord> records) {
  std::int64_t end = 1;
  for (const RequestRecord& record : records) end = std::max(end, record.ended_ns);
  return end;
}

// How many are between their two times, at each change; `began` and `ended` say when.
template <typename Began, typename Ended>
Line level(const std::string& name, std::span<const RequestRecord> records, Began began, Ended ended) {
  std::vector<std::pair<std::int64_t, int>> changes;
  for (const RequestRecord& record : records) {
    const std::int64_t from = began(record);
    const std::int64_t to = ended(record);
    if (from < 0 || to < from) continue;
    changes.emplace_back(from, 1);
    changes.emplace_back(to, -1);
  }
  std::ranges::sort(changes);
  const std::int64_t step = end_of(records) / 1000;
  Line line{name, {{0, 0}}, LineStyle::kStep};
  int now = 0;
  std::int64_t told = 0;
  for (const auto& [at, change] : changes) {
    now += change;
    if (at - told < step && &changes.back().first != &at) continue;  // finer than a pixel
    line.points.emplace_back(seconds(at), now);
    told = at;
  }
  return line;
}

Line output_rate(std::span<const RequestRecord> records) {
  const double width = std::max(seconds(end_of(records)) / kBins, 0.05);
  std::vector<double> bins(static_cast<std::size_t>(seconds(end_of(records)) / width) + 1);
  for (const RequestRecord& record : records) {
    for (const measure::TokenArrival& arrival : record.arrivals) {
      const auto bin = static_cast<std::size_t>(std::max(seconds(arrival.at_ns), 0.0) / width);
      if (bin < bins.size()) bins[bin] += arrival.tokens;
    }
  }
  Line line{"output tokens a second", {}, LineStyle::kStep};
  for (std::size_t bin = 0; bin < bins.size(); ++bin) {
    line.points.emplace_back(static_cast<double>(bin) * width, bins[bin] / width);
  }
  return line;
}

}  // namespace

Table figures_table(std::span<const NamedSummary> runs) {
  Table table{"Figures", {""}, {}};
  for (const NamedSummary& run : runs) table.head.push_back(name_of(run));
  const auto row = [&](const char* name, auto value) {
    std::vector<std::string> cells{name};
    for (const NamedSummary& run : runs) cells.push_back(value(*run.summary));
    table.rows.push_back(std::move(cells));
  };
  using measure::Summary;
  row("completed", [](const Summary& summary) { return count(summary.all.completed); });
  row("refused", [](const Summary& summary) { return count(summary.all.refused); });
  row("failed", [](const Summary& summary) { return count(summary.all.failed); });
  row("duration, s", [](const Summary& summary) { return number(summary.duration_s); });
  row("requests/s", [](const Summary& summary) { return number(summary.request_rate()); });
  row("output tok/s", [](const Summary& summary) { return number(summary.output_rate()); });
  add_latency_rows(table, runs);
  const bool judged = std::ranges::any_of(runs, [](const auto& run) { return !run.summary->objectives.empty(); });
  if (judged) {
    row("within the SLO", [](const Summary& summary) { return number(100 * summary.all.attainment()) + " %"; });
    row("goodput, requests/s", [](const Summary& summary) { return number(summary.goodput()); });
  }
  return table;
}

std::vector<Table> parts_tables(const NamedSummary& run) {
  std::vector<Table> tables;
  const auto add = [&](const char* title, const measure::FiguresByName& list) {
    if (list.empty()) return;
    Table table{title,
                {"", "completed", "not", "output tokens", "TTFT p50, ms", "p95", "TPOT p50, ms", "p95", "E2E p50, ms",
                 "p95", "within the SLO"},
                {}};
    for (const auto& [name, figures] : list) {
      table.rows.push_back(figures_row(name.empty() ? "(unnamed)" : name, figures));
    }
    tables.push_back(std::move(table));
  };
  add("Classes", run.summary->classes);
  add("Tenants", run.summary->tenants);
  return tables;
}

std::vector<Plot> latency_plots(std::span<const NamedSummary> runs) {
  std::vector<Plot> plots;
  for (const Name& name : kNames) {
    Plot plot{std::string(name.shown) + ": share of values at most so long", name.axis, "share", true, false,
              curves_of(runs, name.metric), {}};
    if (plot.lines.empty()) continue;
    for (const measure::Objective& objective : runs.front().summary->objectives) {
      if (objective.metric == name.metric) {
        plot.marks.push_back({static_cast<double>(objective.limit_ns) / kMs, "SLO", true});
      }
    }
    plots.push_back(std::move(plot));
  }
  return plots;
}

std::vector<Plot> load_plots(std::span<const RequestRecord> records) {
  if (records.empty()) return {};
  const auto begin = [](const RequestRecord& record) { return record.scheduled_ns; };
  Plot levels{"Requests under way", "time, s", "requests", false, false, {}, {}};
  const auto end = [](const RequestRecord& record) { return record.ended_ns; };
  levels.lines.push_back(level("under way", records, begin, end));
  levels.lines.push_back(level("without a first token", records, begin, [](const RequestRecord& record) {
    return record.first_token_ns >= 0 ? record.first_token_ns : record.ended_ns;
  }));
  std::vector<Plot> plots{std::move(levels)};
  const bool told = std::ranges::any_of(records, [](const RequestRecord& record) { return !record.arrivals.empty(); });
  if (told) plots.push_back({"Output", "time, s", "tokens/s", false, false, {output_rate(records)}, {}});
  return plots;
}

Timeline request_timeline(std::span<const RequestRecord> records, std::size_t most) {
  Timeline timeline{"Requests, one row each, in the order of their time", "time, s", {}};
  for (const RequestRecord& record : records.first(std::min(most, records.size()))) {
    TimelineRow row{"request " + std::to_string(record.id), {}};
    if (!record.class_name.empty()) row.label += ", " + record.class_name;
    const double begin = seconds(record.scheduled_ns);
    const double end = seconds(std::max(record.ended_ns, record.scheduled_ns));
    if (!record.completed()) {
      row.label += ": " + std::string(to_string(record.status));
      row.spans = {{begin, end, SpanKind::kFailed}};
    } else {
      const double first = seconds(record.first_token_ns);
      const double seat = record.admitted_ns >= 0 ? std::min(seconds(record.admitted_ns), first) : begin;
      if (seat > begin) row.spans.push_back({begin, seat, SpanKind::kWaiting});
      row.spans.push_back({seat, first, SpanKind::kPrefill});
      row.spans.push_back({first, seconds(record.last_token_ns), SpanKind::kDecode});
    }
    timeline.rows.push_back(std::move(row));
  }
  return timeline;
}

}  // namespace paternoster::report
