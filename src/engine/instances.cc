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

namespace paternoster::engine {
namespace {

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

}  // namespace

Result<std::vector<EngineOptions>> share_out(const EngineOptions& options, const Machine& machine) {
  const std::int32_t engines = options.instances;
  const auto too_few = [engines](const char* what, std::int64_t has) {
    return failure(ErrorCode::kInvalidArgument,
                   fmt::format("{} engines need at least {} {}, there are {}: raise it or lower --instances", engines,
                               engines, what, has));
  };
  if (options.max_seqs < engines) return too_few("seats (--max-seqs)", options.max_seqs);
  if (options.threads > 0 && options.threads < engines) return too_few("threads (--threads)", options.threads);
  const std::int32_t threads = options.threads > 0 ? options.threads : std::max(machine.processors, engines);
  std::vector<EngineOptions> shares(static_cast<std::size_t>(engines), options);
  for (std::int32_t at = 0; at < engines; ++at) {
    EngineOptions& share = shares[static_cast<std::size_t>(at)];
    share.max_seqs = share_of(options.max_seqs, at, engines);
    share.max_queue = std::max(1, share_of(options.max_queue, at, engines));
    share.threads = share_of(threads, at, engines);
    if (share.kv_tokens) *share.kv_tokens /= engines;
    if (share.kv_memory_bytes) *share.kv_memory_bytes /= static_cast<std::uint64_t>(engines);
    share.journal = numbered(options.journal, at);
    share.trace = numbered(options.trace, at);
    share.step_log = numbered(options.step_log, at);
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
  std::vector<std::unique_ptr<api::Backend>> engines;
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
  auto fleet = std::make_unique<FleetBackend>(std::move(engines), options.placement);
  const api::ModelCard& card = fleet->model();
  if (options.metrics != nullptr) {
    options.metrics->declare_cache(card.block_tokens, card.kv_tokens / card.block_tokens);
  }
  log_model(card, **model, now_ns() - begin_ns);
  spdlog::info("placement over {} engines: {}", options.instances, fleet::to_string(options.placement));
  return fleet;
}

Result<std::unique_ptr<api::Backend>> create_native_backend(EngineOptions options) {
  if (options.instances > 1) return create_instances(options);
  auto backend = NativeBackend::create(std::move(options));
  if (!backend) return std::unexpected(backend.error());
  return std::move(*backend);
}

}  // namespace paternoster::engine
