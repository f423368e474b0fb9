#include "cli/simulate_options.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/failure.h"
#include "cost/profile.h"
#include "fleet/presets.h"
#include "scheduler/presets.h"

namespace paternoster::cli {
namespace {

std::string profile_names() {
  std::string names;
  for (const cost::Profile& profile : cost::published_profiles()) names += ", " + profile.name;
  return names;
}

void add_outputs(CLI::App& app, SimulateOptions& options) {
  const std::string group = "Output";
  app.add_option("--json", options.json, "summary under the keys of vLLM's benchmark, into this file")->group(group);
  app.add_option("--records", options.records, "one JSON object a request, as they end, into this file")
      ->group(group);
  app.add_option("--perfetto", options.perfetto, "trace for ui.perfetto.dev, into this file")->group(group);
  app.add_option("--html", options.html, "report that opens without a network, into this file")->group(group);
  app.add_option("--journal", options.journal, "every decision of the scheduler, into this file")->group(group);
  app.add_flag("!--no-bands", options.bands, "do not simulate again with all coefficients 10 % lower and higher")
      ->group(group);
}

void add_fleet(CLI::App& app, SimulateOptions& options) {
  const std::string group = "Fleet";
  std::string names;
  for (const fleet::Preset& preset : fleet::presets()) names += (names.empty() ? "" : ", ") + std::string(preset.name);
  app.add_option("--fleet", options.fleet, "many engines behind one planner: " + names)->group(group);
  app.add_option("--instances", options.instances, "engines of the fleet")->check(CLI::Range(1, 4096))->group(group);
  app.add_option("--max-batch", options.max_batch, "sequences of a static batch")
      ->check(CLI::Range(1, 1 << 16))
      ->group(group);
  app.add_flag("!--no-early-return", options.returns_early,
               "static batches run all their iterations, though everybody has stopped")
      ->group(group);
  app.add_option("--interval", options.interval, "between two dispatches, or the least of the adaptive one")
      ->group(group);
}

struct FleetKind {
  bool batches = false;  // its engines run static batches: no scheduler decides there
  bool slices = false;
};

FleetKind kind_of(const std::string& preset) {
  const auto config = fleet::config_of(preset, {.slice_tokens = 1});
  if (!config) return {};
  return {config->choices.batching != fleet::Batching::kSolo, config->limits.slice_tokens != fleet::kWholeRequest};
}

// Fills in what follows from what was given, and names what nothing would read; none: all is well.
std::optional<std::string> check_call(SimulateOptions& options) {
  if (options.fleet.empty() && options.instances > 1) options.fleet = "spread";
  const bool fleet = !options.fleet.empty();
  const auto [batches, slices] = kind_of(options.fleet);
  SchedulerOptions& engine = options.scheduler;
  const scheduler::ChoiceNames& named = engine.choices;
  const bool chooses = !engine.presets.empty() || named.boarding || named.order || named.prefill || named.relief ||
                       named.victim || engine.max_seqs || engine.step_tokens || !engine.prefix_cache;
  const struct {
    bool wrong;
    const char* what;
  } rules[] = {
      {!batches && (options.max_batch || options.interval || !options.returns_early),
       "--max-batch, --interval and --no-early-return say nothing without a --fleet of static batches"},
      {batches && (chooses || options.workload.guesses || options.check_invariants),
       "engines that run static batches have no scheduler: no preset, choices, seats, guesses and invariants there"},
      {engine.presets.size() > 1 && fleet, "a fleet takes one preset"},
      {fleet && !(options.perfetto.empty() && options.journal.empty()),
       "--perfetto and --journal follow one engine, not a fleet"},
      {fleet && !batches && options.check_invariants, "--check-invariants checks one engine, not a fleet"},
  };
  for (const auto& rule : rules) {
    if (rule.wrong) return rule.what;
  }
  if (engine.presets.empty()) engine.presets = {std::string(scheduler::kDefaultPreset)};
  return unread_setting(engine, engine.presets, slices);
}

}  // namespace

ParsedSimulate parse_simulate(int argc, const char* const* argv) {
  ParsedSimulate parsed;
  SimulateOptions& options = parsed.options;
  CLI::App app("Says what a workload would meet on an engine, by running the engine's scheduler in virtual time.",
               "paternoster simulate");
  app.add_option("--on", options.on, "the engine: a calibration file" + profile_names())->required();
  app.add_option("--slo", options.slo, "objectives: ttft=1s,itl=80ms@p95 (ttft, tpot, itl, e2e)");
  add_workload_options(app, options.workload);
  add_scheduler_options(app, options.scheduler);
  app.add_option("--allowed-tokens", options.allowed_tokens,
                 "max_tokens that clients ask for; otherwise just what the answer has")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--pace", options.pace_percent, "take so many percent of the profile's step times")
      ->check(CLI::Range(1, 100'000));
  app.add_flag("--separate-passes", options.separate_passes,
               "a step's prompts and decodes are computed one after the other, as the engines of 2023 did");
  app.add_option("--step-overhead", options.step_overhead, "host time between steps, instead of the profile's");
  app.add_option("--ingest", options.ingest, "from a request's arrival to the scheduler");
  app.add_option("--egress", options.egress, "from a token to its client");
  app.add_option("--fault", options.faults, "die@30s, slow:200@1m, return@90s; may be given again");
  app.add_flag("--check-invariants", options.check_invariants, "check the scheduler after every step");
  add_fleet(app, options);
  add_outputs(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = fail_call(app, error);
    return parsed;
  }
  const std::optional<std::string> wrong = check_call(options);
  if (wrong) {
    std::fprintf(stderr, "paternoster simulate: %s\n", wrong->c_str());
    parsed.exit_code = 2;
  }
  return parsed;
}

}  // namespace paternoster::cli
