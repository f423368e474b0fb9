#include "engine/instances.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "engine/cpu_shares.h"
#include "engine/fleet_backend.h"
#include "engine/native_backend.h"
#include "engine/sliced_backend.h"
#include "fleet/presets.h"

namespace paternoster::engine {
namespace {

constexpr std::int32_t kAnyQueue = 1 << 20;

// The share that engine `at` of `engines` has of `total`.
std::int32_t share_of(std::int32_t total, std::int32_t at, std::int32_t engines) {
  return total / engines + (at < total % engines ? 1 : 0);
}

std::filesystem::path numbered(const std::filesystem::path& path, std::int32_t engine) {
  return path.empty() ? path : std::filesystem::path(path.string() + "." + std::to_string(engine));
}

using Made = Result<std::unique_ptr<NativeBackend>>;

// On a thread that runs on these processors alone, as do all that the engine starts.
Made make_bound(EngineOptions options, EngineShare share, const Machine& machine, const CpuShare& processors) {
  std::optional<Made> made;
  std::thread([&] {
    run_on(processors);
    made = NativeBackend::create(std::move(options), std::move(share), machine);
  }).join();
  return std::move(*made);
}

void log_share(std::int32_t engine, const EngineOptions& options, const CpuShare& share) {
  spdlog::info("engine {}: {} thread{}, {} seat{}, processors {} ({} core{}{}){}", engine, options.threads,
               options.threads == 1 ? "" : "s", options.max_seqs, options.max_seqs == 1 ? "" : "s",
               fmt::join(share.processors, ","), share.cores, share.cores == 1 ? "" : "s",
               share.nodes.empty() ? "" : fmt::format(" of node {}", fmt::join(share.nodes, ",")),
               share.nodes.size() > 1 ? ": its KV cache will lie on several nodes" : "");
}

// Placement alone needs less of an engine than slices do.
Result<std::unique_ptr<api::Backend>> put_behind_fleet(std::vector<std::unique_ptr<NativeBackend>>&& engines,
                                                       const std::shared_ptr<const LoadedModel>& model,
                                                       const EngineOptions& options) {
  auto config = fleet_config(options);
  if (!config) return std::unexpected(config.error());
  const std::string preset(fleet_preset(options));
  if (!runs_batches(*config)) {
    spdlog::info("{} engines, fleet {}: each call stays where {} places it", engines.size(), preset,
                 fleet::to_string(config->choices.placement));
    std::vector<std::unique_ptr<api::Backend>> backends;
    for (auto& engine : engines) backends.push_back(std::move(engine));
    return std::make_unique<FleetBackend>(std::move(backends), config->choices.placement);
  }
  config->memory.kv_tokens = INT64_MAX / 2;
  for (const auto& engine : engines) {
    config->limits.max_batch = std::min(config->limits.max_batch, engine->model().max_seqs);
    config->memory.kv_tokens = std::min<std::int64_t>(config->memory.kv_tokens, engine->model().kv_tokens);
  }
  auto planner = fleet::Fleet::create(*config);
  if (!planner) return std::unexpected(planner.error());
  spdlog::info("{} engines, fleet {}: {} batching, {} placement, {}", engines.size(), preset,
               to_string(config->choices.batching), to_string(config->choices.placement),
               config->limits.slice_tokens == fleet::kWholeRequest
                   ? std::string("whole answers")
                   : fmt::format("slices of {} tokens", config->limits.slice_tokens));
  std::vector<std::unique_ptr<SliceEngine>> slicing;
  for (auto& engine : engines) slicing.push_back(std::move(engine));
  return std::make_unique<SlicedBackend>(
      std::move(slicing), model, std::move(*planner),
      SlicedBackend::Options{preset, options.max_queue, options.share_prefixes, options.metrics});
}

}  // namespace

std::string_view fleet_preset(const EngineOptions& options) {
  return options.fleet.empty() ? fleet::preset_with(options.preset) : std::string_view(options.fleet);
}

Result<fleet::Config> fleet_config(const EngineOptions& options) {
  fleet::Limits limits;
  limits.instances = options.instances;
  limits.slice_tokens = options.tuning.slice_tokens;
  limits.max_batch = options.max_seqs;
  limits.max_queue = options.max_queue;
  limits.interval_ns = options.fleet_interval_ns;
  auto config = fleet::config_of(fleet_preset(options), limits);
  if (config && options.placement) config->choices.placement = *options.placement;
  return config;
}

bool runs_batches(const fleet::Config& config) {
  return config.choices.batching != fleet::Batching::kSolo || config.limits.slice_tokens != fleet::kWholeRequest;
}

Result<std::vector<EngineOptions>> share_out(const EngineOptions& options, const Machine& machine) {
  const std::int32_t engines = options.instances;
  const auto too_few = [engines](const char* what, std::int64_t has) {
    return failure(ErrorCode::kInvalidArgument,
                   fmt::format("{} engines need at least {} {}, there are {}: raise it or lower --instances", engines,
                               engines, what, has));
  };
  if (options.max_seqs < engines) return too_few("seats (--max-seqs)", options.max_seqs);
  if (options.threads > 0 && options.threads < engines) return too_few("threads (--threads)", options.threads);
  const auto config = fleet_config(options);
  if (!config) return std::unexpected(config.error());
  const bool batches = runs_batches(*config);
  const std::int32_t threads = options.threads > 0 ? options.threads : std::max(machine.processors, engines);
  std::vector<EngineOptions> shares(static_cast<std::size_t>(engines), options);
  for (std::int32_t at = 0; at < engines; ++at) {
    EngineOptions& share = shares[static_cast<std::size_t>(at)];
    share.max_seqs = share_of(options.max_seqs, at, engines);
    share.max_queue = std::max(1, share_of(options.max_queue, at, engines));
    share.threads = share_of(threads, at, engines);
    if (batches) {
      // The fleet cuts and queues; an engine runs what it is given, and refuses nothing that was accepted.
      if (!share.choices.boarding) share.choices.boarding = "continuous";
      share.max_queue = kAnyQueue;
      share.learns_cost = true;
    }
    if (share.kv_tokens) *share.kv_tokens /= engines;
    if (share.kv_memory_bytes) *share.kv_memory_bytes /= static_cast<std::uint64_t>(engines);
    share.journal = numbered(options.journal, at);
    share.trace = numbered(options.trace, at);
    share.step_log = numbered(options.step_log, at);
    share.swap_file = numbered(options.swap_file, at);
    share.swap_bytes /= static_cast<std::uint64_t>(engines);
  }
  return shares;
}

Result<std::unique_ptr<api::Backend>> create_instances(const EngineOptions& options) {
  const std::int64_t begin_ns = now_ns();
  const Machine machine = read_machine();
  auto shares = share_out(options, machine);
  if (!shares) return std::unexpected(shares.error());
  const std::vector<int> processors = allowed_processors();
  if (machine.processors < options.instances) {
    spdlog::warn("{} engines on {} processors ({}): they will wait for each other", options.instances,
                 machine.processors, machine.processors_reason);
  }
  EngineOptions loading = options;
  loading.threads = machine.processors;
  auto model = load_for(loading);
  if (!model) return std::unexpected(model.error());
  const std::vector<CpuShare> places = cpu_shares(processors, options.instances);
  if (options.metrics != nullptr) options.metrics->declare_engines(options.instances);
  std::vector<std::unique_ptr<NativeBackend>> engines;
  for (std::int32_t at = 0; at < options.instances; ++at) {
    EngineOptions& share = (*shares)[static_cast<std::size_t>(at)];
    const CpuShare& place = places[static_cast<std::size_t>(at)];
    log_share(at, share, place);
    auto made = make_bound(std::move(share), {*model, at, options.instances}, machine, place);
    if (!made) {
      return failure(made.error().code,
                     fmt::format("each of {} engines: {}", options.instances, made.error().message));
    }
    engines.push_back(std::move(*made));
  }
  auto backend = put_behind_fleet(std::move(engines), *model, options);
  if (!backend) return std::unexpected(backend.error());
  const api::ModelCard& card = (*backend)->model();
  if (options.metrics != nullptr) {
    options.metrics->declare_cache(card.block_tokens, card.kv_tokens / card.block_tokens);
  }
  log_model(card, **model, now_ns() - begin_ns);
  return backend;
}

Result<std::unique_ptr<api::Backend>> create_native_backend(EngineOptions options) {
  if (options.instances > 1) return create_instances(options);
  auto backend = NativeBackend::create(std::move(options));
  if (!backend) return std::unexpected(backend.error());
  return std::move(*backend);
}

}  // namespace paternoster::engine
