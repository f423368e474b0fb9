// `paternoster simulate --fleet`: many engines behind the fleet's planner.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/duration.h"
#include "base/json_writer.h"
#include "cli/failure.h"
#include "cli/figures_table.h"
#include "cli/line_file.h"
#include "cli/simulate_job.h"
#include "cli/simulate_report.h"
#include "fleet/presets.h"
#include "measure/summary_json.h"
#include "simulator/bands.h"
#include "simulator/fleet_simulation.h"

namespace paternoster::cli {
namespace {

constexpr std::int32_t kUsualSlice = 128;

std::string fleet_verdict(const Job& job, const simulator::FleetOutcome& outcome) {
  return simulator::to_string(simulator::Verdict{outcome.overloaded(), outcome.summary.meets_objectives()},
                              !job.objectives.empty());
}

Result<simulator::FleetOptions> fleet_options(const Job& job) {
  const SimulateOptions& given = job.options;
  simulator::FleetOptions options;
  fleet::Limits limits;
  limits.instances = given.instances;
  limits.slice_tokens = given.scheduler.slice.value_or(kUsualSlice);
  limits.max_batch = given.max_batch.value_or(limits.max_batch);
  if (given.interval) {
    const auto interval = parse_duration(*given.interval);
    if (!interval) return std::unexpected(interval.error());
    limits.interval_ns = *interval;
  }
  auto config = fleet::config_of(given.fleet, limits);
  if (!config) return std::unexpected(config.error());
  options.fleet = *config;
  options.continuous = config->choices.batching == fleet::Batching::kSolo;
  if (options.continuous) {
    auto engine = configure(given.scheduler, given.scheduler.presets.front(), job.profile);
    if (!engine) return std::unexpected(engine.error());
    options.engine = *engine;
    options.engine.limits.prefix_cache &= shares_content(job.description);
  }
  options.model = job.profile.model;
  const std::int64_t usual_input =
      job.description.trace ? 1024 : static_cast<std::int64_t>(job.description.classes.front().input.first);
  options.fleet.time = simulator::time_model_of(job.profile.model, usual_input);
  options.fleet.memory.kv_tokens = given.scheduler.kv_tokens.value_or(job.profile.kv_tokens);
  options.objectives = job.objectives;
  options.allowed_tokens = given.allowed_tokens;
  options.guesses = given.workload.guesses;
  options.returns_early = given.returns_early;
  options.faults = job.faults;
  return options;
}

void print_fleet(const Job& job, const simulator::FleetOutcome& outcome) {
  fmt::print("{} x {} on {}: {}\n", job.options.instances, job.options.fleet, job.profile.name,
             workload_text(job.description));
  fmt::print("{}", figures_table(outcome.summary));
  const fleet::Stats& stats = outcome.stats;
  fmt::print("{:.2f} slices a request, {:.1f} % of batches returned early; tokens: {} produced, {} invalid, {} padded, "
             "{} prefilled again\n"
             "engines were done {:.2f} s apart (standard deviation)\n",
             outcome.slices_per_request(), 100 * outcome.early_return_ratio(), stats.tokens_produced,
             stats.tokens_invalid, stats.tokens_padded, stats.tokens_reprefilled, outcome.completion_deviation_s());
  fmt::print("{}\n", fleet_verdict(job, outcome));
}

Result<void> write_fleet_json(const Job& job, const simulator::FleetOutcome& outcome) {
  if (job.options.json.empty()) return {};
  auto file = LineFile::create(job.options.json);
  if (!file) return std::unexpected(file.error());
  JsonObject object(file->text());
  object.field("backend", "paternoster simulate")
      .field("model_id", job.profile.name)
      .field("fleet", job.options.fleet)
      .field("instances", job.options.instances)
      .field("workload", workload_text(job.description))
      .field("seed", job.description.seed);
  append_summary(object, outcome.summary);
  const fleet::Stats& stats = outcome.stats;
  object.field("slices_per_request", outcome.slices_per_request())
      .field("early_return_ratio", outcome.early_return_ratio())
      .field("tokens_produced", stats.tokens_produced)
      .field("tokens_invalid", stats.tokens_invalid)
      .field("tokens_padded", stats.tokens_padded)
      .field("tokens_prefilled", stats.tokens_prefilled)
      .field("tokens_reprefilled", stats.tokens_reprefilled)
      .field("completion_deviation_s", outcome.completion_deviation_s())
      .field("overloaded", outcome.overloaded());
  object.end();
  file->text() += '\n';
  return file->finish();
}

Result<void> write_fleet_html(const Job& job, const simulator::FleetOutcome& outcome,
                              std::vector<measure::RequestRecord> records) {
  if (job.options.html.empty()) return {};
  std::ranges::stable_sort(records, {}, &measure::RequestRecord::scheduled_ns);
  const SimulatedRun run{fmt::format("{} x {}", job.options.instances, job.options.fleet), &outcome.summary,
                         &outcome.timeline, fleet_verdict(job, outcome)};
  auto file = LineFile::create(job.options.html);
  if (!file) return std::unexpected(file.error());
  file->text() = report::to_html(simulate_report(
      fmt::format("{} on {} ({})", workload_text(job.description), job.profile.name, job.profile.source),
      std::span(&run, 1), records, {}));
  return file->finish();
}

}  // namespace

int simulate_fleet(const Job& job) {
  auto options = fleet_options(job);
  if (!options) return fail("simulate", options.error());
  constexpr std::size_t kRowsShown = 200;
  std::vector<measure::RequestRecord> first_records;
  std::optional<LineFile> records;
  if (!job.options.records.empty()) {
    auto file = LineFile::create(job.options.records);
    if (!file) return fail("simulate", file.error());
    records.emplace(std::move(*file));
  }
  options->on_record = [&](const measure::RequestRecord& record) {
    if (first_records.size() < kRowsShown) first_records.push_back(record);
    if (!records) return;
    append_record(records->text(), record);
    records->text() += '\n';
    records->flush(std::size_t{1} << 20);
  };
  auto source = workload::Source::create(job.description);
  if (!source) return fail("simulate", source.error());
  auto simulation = simulator::FleetSimulation::create(std::move(*options), std::move(*source));
  if (!simulation) return fail("simulate", simulation.error());
  const simulator::FleetOutcome outcome = simulation->run();
  print_fleet(job, outcome);
  if (records) {
    if (auto done = records->finish(); !done) return fail("simulate", done.error());
  }
  if (auto written = write_fleet_json(job, outcome); !written) return fail("simulate", written.error());
  if (auto written = write_fleet_html(job, outcome, std::move(first_records)); !written) {
    return fail("simulate", written.error());
  }
  return 0;
}

}  // namespace paternoster::cli
