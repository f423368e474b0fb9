// `paternoster simulate`: a workload, an engine's profile and a scheduler's choices put together.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/duration.h"
#include "base/json_writer.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/figures_table.h"
#include "cli/line_file.h"
#include "cli/progress_line.h"
#include "cli/simulate_job.h"
#include "cli/simulate_report.h"
#include "measure/summary_json.h"
#include "simulator/bands.h"
#include "simulator/perfetto.h"
#include "simulator/simulation.h"

namespace paternoster::cli {
namespace {

Result<simulator::Options> simulator_options(const Job& job, const std::string& preset) {
  simulator::Options options;
  auto config = configure(job.options.scheduler, preset, job.profile);
  if (!config) return std::unexpected(config.error());
  options.config = *config;
  // Without shared content the cache finds nothing: looking for it would only take time.
  options.config.limits.prefix_cache &= shares_content(job.description);
  options.model = job.profile.model;
  options.objectives = job.objectives;
  options.allowed_tokens = job.options.allowed_tokens;
  options.guesses = job.options.workload.guesses;
  options.faults = job.faults;
  options.check_invariants = job.options.check_invariants;
  return options;
}

constexpr std::size_t kRowsShown = 200;  // requests in the report's timeline

struct Simulated {
  std::string preset;
  simulator::Options options;
  simulator::Outcome outcome;
  double wall_s = 0;
  std::vector<measure::RequestRecord> first_records;  // of those that ended, for the report
};

Result<Simulated> simulate_one(const Job& job, const std::string& preset, bool writes, ProgressLine& progress) {
  auto made = simulator_options(job, preset);
  if (!made) return std::unexpected(made.error());
  simulator::Options options = std::move(*made);
  const simulator::Options plain = options;
  options.on_progress = [&](const simulator::Progress& at) { progress.show(preset, at.requests, at.total); };

  std::optional<LineFile> records;
  std::optional<simulator::PerfettoWriter> perfetto;
  scheduler::Journal journal;
  if (writes && !job.options.records.empty()) {
    auto file = LineFile::create(job.options.records);
    if (!file) return std::unexpected(file.error());
    records.emplace(std::move(*file));
  }
  if (writes && !job.options.perfetto.empty()) {
    auto writer = simulator::PerfettoWriter::create(job.options.perfetto);
    if (!writer) return std::unexpected(writer.error());
    perfetto.emplace(std::move(*writer));
    options.on_step = [&](const simulator::StepSeen& step) { perfetto->step(step); };
  }
  if (writes && !job.options.journal.empty()) options.journal = &journal;
  std::vector<measure::RequestRecord> first_records;
  const bool reports = writes && !job.options.html.empty();
  if (records || perfetto || reports) {
    options.on_record = [&](const measure::RequestRecord& record) {
      if (reports && first_records.size() < kRowsShown) first_records.push_back(record);
      if (records) {
        append_record(records->text(), record);
        records->text() += '\n';
        records->flush(std::size_t{1} << 20);
      }
      if (perfetto) perfetto->request(record);
    };
  }
  auto source = workload::Source::create(job.description);
  if (!source) return std::unexpected(source.error());
  auto simulation = simulator::Simulation::create(std::move(options), std::move(*source));
  if (!simulation) return std::unexpected(simulation.error());
  const auto began = std::chrono::steady_clock::now();
  Simulated result{preset, plain, simulation->run(), 0, {}};
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  progress.clear();
  std::ranges::stable_sort(first_records, {}, &measure::RequestRecord::scheduled_ns);
  result.first_records = std::move(first_records);
  if (records) {
    if (auto done = records->finish(); !done) return std::unexpected(done.error());
  }
  if (perfetto) {
    if (auto done = perfetto->finish(); !done) return std::unexpected(done.error());
  }
  if (options.journal != nullptr || (writes && !job.options.journal.empty())) {
    auto file = LineFile::create(job.options.journal);
    if (!file) return std::unexpected(file.error());
    const auto bytes = journal.take();
    file->text().assign(bytes.begin(), bytes.end());
    if (auto done = file->finish(); !done) return std::unexpected(done.error());
  }
  return result;
}

void print_simulated(const Job& job, const Simulated& one) {
  const simulator::Outcome& outcome = one.outcome;
  const scheduler::Limits& limits = one.options.config.limits;
  fmt::print("{} on {}: {}\n", one.preset, job.profile.name, workload_text(job.description));
  fmt::print("{} seats, {} tokens a step, {} KV tokens, context {}\n", limits.max_seqs, limits.step_tokens,
             std::int64_t{limits.num_blocks} * limits.block_size, limits.max_len);
  fmt::print("{}", figures_table(outcome.summary));
  const simulator::Verdict verdict = simulator::verdict_of(outcome);
  fmt::print("{}; {:.1f} % of the time in steps\n", simulator::to_string(verdict, !job.objectives.empty()),
             100 * static_cast<double>(outcome.busy_ns) / std::max<double>(static_cast<double>(outcome.end_ns), 1));
}

void print_speed(const Simulated& one) {
  const simulator::Outcome& outcome = one.outcome;
  const double seconds = std::max(one.wall_s, 1e-9);
  fmt::print("simulated in {}: {:.0f} requests/s, {:.0f} steps/s, {:.3g} sequence-steps/s\n",
             duration_text(one.wall_s * 1e9), static_cast<double>(outcome.summary.all.total()) / seconds,
             static_cast<double>(outcome.steps) / seconds, static_cast<double>(outcome.sequence_steps) / seconds);
}

std::vector<std::string> band_lines(const Job& job, const Simulated& one, const simulator::Bands& bands) {
  const bool objectives = !job.objectives.empty();
  const auto line = [&](const char* name, const simulator::Outcome& outcome) {
    const measure::Figures& all = outcome.summary.all;
    return fmt::format("  {:<6} TTFT p95 {:>8}, ITL p95 {:>8}, E2E mean {:>8}: {}", name,
                       duration_text(all.ttft.percentile(95)), duration_text(all.itl.percentile(95)),
                       duration_text(all.e2e.mean()),
                       simulator::to_string(simulator::verdict_of(outcome), objectives));
  };
  return {"if every coefficient is off by 10 %:", line("-10 %", bands.faster), line("+10 %", bands.slower),
          bands.flips(one.outcome) ? "the verdict flips within this band: measure before you rely on it"
                                   : "the verdict is the same throughout"};
}

Result<void> write_html(const Job& job, const std::vector<Simulated>& all, const std::vector<std::string>& bands) {
  if (job.options.html.empty()) return {};
  std::vector<SimulatedRun> runs;
  for (const Simulated& one : all) {
    runs.push_back({one.preset, &one.outcome.summary, &one.outcome.timeline,
                    simulator::to_string(simulator::verdict_of(one.outcome), !job.objectives.empty())});
  }
  auto file = LineFile::create(job.options.html);
  if (!file) return std::unexpected(file.error());
  file->text() = report::to_html(simulate_report(
      fmt::format("{} on {} ({})", workload_text(job.description), job.profile.name, job.profile.source), runs,
      all.front().first_records, bands));
  return file->finish();
}

Result<void> write_json(const Job& job, const std::vector<Simulated>& all,
                        const std::optional<simulator::Bands>& bands) {
  if (job.options.json.empty()) return {};
  auto file = LineFile::create(job.options.json);
  if (!file) return std::unexpected(file.error());
  std::string& out = file->text();
  for (const Simulated& one : all) {
    JsonObject object(out);
    object.field("backend", "paternoster simulate")
        .field("model_id", job.profile.name)
        .field("preset", one.preset)
        .field("workload", workload_text(job.description))
        .field("seed", job.description.seed);
    append_summary(object, one.outcome.summary);
    object.field("overloaded", one.outcome.overloaded())
        .field("steps", one.outcome.steps)
        .field("sequence_steps", one.outcome.sequence_steps)
        .field("simulation_seconds", one.wall_s);
    if (bands && &one == &all.front()) {
      object.field("verdict_flips_within_10_percent", bands->flips(one.outcome));
    }
    object.end();
    out += '\n';
  }
  return file->finish();
}

int run_all(const SimulateOptions& options) {
  const auto job = prepare_job(options);
  if (!job) return fail("simulate", job.error());
  if (!options.fleet.empty()) return simulate_fleet(*job);
  ProgressLine progress;
  std::vector<Simulated> all;
  for (const std::string& preset : options.scheduler.presets) {
    auto one = simulate_one(*job, preset, all.empty(), progress);
    if (!one) return fail("simulate", one.error());
    if (!all.empty()) fmt::print("\n");
    print_simulated(*job, *one);
    print_speed(*one);
    all.push_back(std::move(*one));
  }
  std::optional<simulator::Bands> bands;
  std::vector<std::string> bands_text;
  if (options.bands) {
    auto run = simulator::run_bands(all.front().options, job->description);
    if (!run) return fail("simulate", run.error());
    bands.emplace(std::move(*run));
    bands_text = band_lines(*job, all.front(), *bands);
    for (const std::string& line : bands_text) fmt::print("{}\n", line);
  }
  if (auto written = write_json(*job, all, bands); !written) return fail("simulate", written.error());
  if (auto written = write_html(*job, all, bands_text); !written) return fail("simulate", written.error());
  return 0;
}

}  // namespace

int simulate(int argc, char** argv) {
  const ParsedSimulate parsed = parse_simulate(argc, argv);
  return parsed.exit_code ? *parsed.exit_code : run_all(parsed.options);
}

}  // namespace paternoster::cli
