#include "simulator/trial.h"

#include "simulator/fleet_simulation.h"

namespace paternoster::simulator {
namespace {

constexpr std::int64_t kUsualInput = 1024;  // of the planner's estimates; solo requests are placed by counts

template <typename Outcome>
Trial trial_of(Outcome&& outcome) {
  return {std::move(outcome.summary), outcome.last_arrival_ns, outcome.most_live, outcome.overloaded()};
}

FleetOptions fleet_options(const Options& options, const Candidate& candidate) {
  FleetOptions fleet;
  fleet.fleet.choices.placement = candidate.placement;
  fleet.fleet.limits.instances = candidate.instances;
  fleet.fleet.limits.max_queue = candidate.config.limits.max_queue;
  fleet.fleet.time = time_model_of(options.model, kUsualInput);
  fleet.fleet.memory.kv_tokens =
      std::int64_t{candidate.config.limits.num_blocks} * candidate.config.limits.block_size;
  fleet.model = options.model;
  fleet.continuous = true;
  fleet.engine = candidate.config;
  fleet.objectives = options.objectives;
  fleet.allowed_tokens = options.allowed_tokens;
  fleet.guesses = options.guesses;
  return fleet;
}

}  // namespace

double Trial::rate() const {
  const double seconds = static_cast<double>(last_arrival_ns) / 1e9;
  return seconds > 0 ? static_cast<double>(summary.all.total()) / seconds : 0;
}

Result<Trial> run_trial(const Options& options, const workload::Description& workload, const Candidate& candidate,
                        double speed) {
  workload::Description scaled = workload;
  (scaled.arrivals ? scaled.rate : scaled.speed) *= speed;
  auto source = workload::Source::create(std::move(scaled));
  if (!source) return std::unexpected(source.error());
  if (candidate.instances > 1) {
    auto simulation = FleetSimulation::create(fleet_options(options, candidate), std::move(*source));
    if (!simulation) return std::unexpected(simulation.error());
    return trial_of(simulation->run());
  }
  Options alone = options;
  alone.config = candidate.config;
  auto simulation = Simulation::create(std::move(alone), std::move(*source));
  if (!simulation) return std::unexpected(simulation.error());
  return trial_of(simulation->run());
}

}  // namespace paternoster::simulator
