#include "cli/figures_table.h"

#include <fmt/format.h>

#include "base/duration.h"

namespace paternoster::cli {
namespace {

void add_row(std::string& out, std::string_view name, const measure::Distribution& values) {
  if (values.empty()) return;
  out += fmt::format("  {:<6}", name);
  for (const double value : {values.mean(), values.percentile(50), values.percentile(90), values.percentile(95),
                             values.percentile(99), values.largest()}) {
    out += fmt::format(" {:>9}", duration_text(value));
  }
  out += '\n';
}

void add_latencies(std::string& out, const measure::Figures& figures) {
  out += fmt::format("  {:<6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "", "mean", "p50", "p90", "p95", "p99", "max");
  add_row(out, "TTFT", figures.ttft);
  add_row(out, "TPOT", figures.tpot);
  add_row(out, "ITL", figures.itl);
  add_row(out, "E2E", figures.e2e);
  add_row(out, "queue", figures.queue);
}

void add_parts(std::string& out, std::string_view kind, const measure::FiguresByName& list, bool objectives) {
  for (const auto& [name, figures] : list) {
    out += fmt::format("{} {}: {} completed, {} refused, {} failed", kind, name.empty() ? "(unnamed)" : name,
                       figures.completed, figures.refused, figures.failed);
    if (objectives) out += fmt::format(", {:.1f} % within the SLO", 100 * figures.attainment());
    out += '\n';
    if (kind == "class") add_latencies(out, figures);
  }
}

}  // namespace

std::string figures_table(const measure::Summary& summary) {
  const measure::Figures& all = summary.all;
  std::string out = fmt::format(
      "{} completed, {} refused, {} failed in {}\n"
      "{:.2f} requests/s, {:.1f} output tok/s, {:.1f} tok/s with prompts\n",
      all.completed, all.refused, all.failed, duration_text(summary.duration_s * 1e9), summary.request_rate(),
      summary.output_rate(), summary.total_rate());
  if (all.preemptions > 0) out += fmt::format("{} preemptions\n", all.preemptions);
  if (all.cached_tokens > 0) {
    out += fmt::format("{:.1f} % of prompt tokens came from the prefix cache\n",
                       100.0 * static_cast<double>(all.cached_tokens) / static_cast<double>(all.input_tokens));
  }
  add_latencies(out, all);
  if (!summary.objectives.empty()) {
    out += fmt::format("SLO {}: {}; {:.1f} % of requests within all of it, goodput {:.2f} requests/s\n",
                       to_string(summary.objectives), summary.meets_objectives() ? "met" : "missed",
                       100 * all.attainment(), summary.goodput());
  }
  add_parts(out, "class", summary.classes, !summary.objectives.empty());
  add_parts(out, "tenant", summary.tenants, !summary.objectives.empty());
  if (!summary.tenants.empty()) out += fmt::format("Jain's index over tenants: {:.3f}\n", summary.jain);
  return out;
}

}  // namespace paternoster::cli
