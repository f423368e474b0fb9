#include "simulator/bands.h"

namespace paternoster::simulator {
namespace {

Result<Outcome> run_scaled(const Options& options, const workload::Description& workload, std::int64_t percent) {
  Options scaled = options;
  scaled.model = options.model.scaled(percent);
  scaled.journal = nullptr;
  scaled.on_record = nullptr;
  scaled.on_step = nullptr;
  auto source = workload::Source::create(workload);
  if (!source) return std::unexpected(source.error());
  auto simulation = Simulation::create(std::move(scaled), std::move(*source));
  if (!simulation) return std::unexpected(simulation.error());
  return simulation->run();
}

}  // namespace

Verdict verdict_of(const Outcome& outcome) {
  return {outcome.overloaded(), outcome.summary.meets_objectives()};
}

std::string to_string(const Verdict& verdict, bool has_objectives) {
  std::string text = verdict.overloaded ? "overloaded" : "stable";
  if (has_objectives) text += verdict.meets_objectives ? ", SLO met" : ", SLO missed";
  return text;
}

bool Bands::flips(const Outcome& middle) const {
  return verdict_of(faster) != verdict_of(middle) || verdict_of(slower) != verdict_of(middle);
}

Result<Bands> run_bands(const Options& options, const workload::Description& workload) {
  auto faster = run_scaled(options, workload, 100 - kBandPercent);
  if (!faster) return std::unexpected(faster.error());
  auto slower = run_scaled(options, workload, 100 + kBandPercent);
  if (!slower) return std::unexpected(slower.error());
  return Bands{std::move(*faster), std::move(*slower)};
}

}  // namespace paternoster::simulator
