// `paternoster serve`: model, engine and HTTP server put together.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "cli/commands.h"
#include "cli/pull.h"
#include "cli/serve_options.h"
#include "engine/options.h"
#include "server/access_log.h"
#include "server/server.h"

namespace paternoster::cli {
namespace {

int give_up(const Error& error) {
  spdlog::shutdown();  // what is logged already comes first
  std::fprintf(stderr, "paternoster serve: %s\n", error.message.c_str());
  return 1;
}

Result<std::string> read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return failure(ErrorCode::kNotFound, "cannot read the chat template " + path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// What the model is called when nobody says: its short name, or its file's name.
std::string name_of(const ServeOptions& options, const std::filesystem::path& file) {
  if (!options.served_model_names.empty()) return options.served_model_names.front();
  if (model::find_known_model(options.model) != nullptr) return options.model;
  return file.stem().string();
}

Result<engine::EngineOptions> engine_options(const ServeOptions& options) {
  engine::EngineOptions engine;
  auto file = obtain_model(options.model);
  if (!file) return std::unexpected(file.error());
  engine.model = *file;
  engine.model_id = name_of(options, *file);
  engine.max_seqs = options.max_seqs;
  engine.max_len = options.max_len;
  engine.kv_tokens = options.kv_tokens;
  engine.kv_memory_bytes = options.kv_memory_bytes;
  engine.kv_type = options.kv_type;
  engine.step_tokens = options.step_tokens;
  engine.max_queue = options.max_queue;
  engine.threads = options.threads;
  engine.instances = options.instances;
  engine.fleet = options.fleet;
  engine.placement = options.placement;
  engine.fleet_interval_ns = options.fleet_interval_ns;
  engine.preset = options.preset;
  engine.choices = options.choices;
  engine.tuning = options.tuning;
  engine.swap_bytes = options.swap_bytes;
  engine.swap_file = options.swap_file;
  engine.journal = options.journal;
  engine.step_log = options.step_log;
  engine.trace = options.trace;
  engine.stall_ns = static_cast<std::int64_t>(options.stall_timeout_s * 1e9);
  engine.share_prefixes = options.share_prefixes;
  engine.check_invariants = options.check_invariants;
  if (!options.chat_template.empty()) {
    auto source = read_text(options.chat_template);
    if (!source) return std::unexpected(source.error());
    engine.chat_template = std::move(*source);
  }
  return engine;
}

Result<server::ServerOptions> server_options(const ServeOptions& options) {
  server::ServerOptions server;
  server.host = options.host;
  server.port = options.port;
  server.log_json = options.log_json;
  server.version = version();
  server.drain_timeout = std::chrono::seconds(options.drain_timeout_s);
  server.allowed_hosts = options.allowed_hosts;
  const auto& names = options.served_model_names;
  if (names.size() > 1) server.aliases.assign(names.begin() + 1, names.end());
  if (!options.api_key_file.empty()) {
    auto keys = server::ApiKeys::read(options.api_key_file);
    if (!keys) return std::unexpected(keys.error());
    server.keys = std::move(*keys);
    server.key_file = options.api_key_file;
  }
  return server;
}

bool is_loopback(const std::string& host) {
  return host.starts_with("127.") || host == "localhost" || host == "::1" || host == "[::1]";
}

int serve_until_drained(const ServeOptions& options) {
  auto edge = server_options(options);
  if (!edge) return give_up(edge.error());
  auto engine = engine_options(options);
  if (!engine) return give_up(engine.error());
  const std::string name = engine->model_id;
  measure::ServingMetrics metrics(name);
  engine->metrics = &metrics;
  if (options.metrics_tenants) metrics.label_tenants();
  auto backend = engine::create_native_backend(std::move(*engine));
  if (!backend) return give_up(backend.error());
  const bool keyed = edge->keys.required();
  auto server = server::Server::create(std::move(*edge), **backend, metrics);
  if (!server) return give_up(server.error());
  if (!is_loopback(options.host) && !keyed) {
    spdlog::warn("anybody who reaches {} may use it: there is no --api-key-file", (*server)->address());
  }
  std::printf("paternoster serves %s at %s\n", name.c_str(), (*server)->address().c_str());
  std::fflush(stdout);
  const int code = (*server)->run();
  server->reset();
  backend->reset();
  return code;
}

}  // namespace

int serve(int argc, char** argv) {
  const ParsedServe parsed = parse_serve(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  server::set_up_logging(parsed.options.log_json);
  const int code = serve_until_drained(parsed.options);
  spdlog::shutdown();
  return code;
}

}  // namespace paternoster::cli
