#include "cli/talk_options.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "cli/backend_talker.h"
#include "cli/pull.h"
#include "cli/remote_talker.h"
#include "engine/options.h"
#include "model/model_path.h"

namespace paternoster::cli {
namespace {

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file || text.empty()) {
    return failure(ErrorCode::kNotFound, fmt::format("cannot read {}, or it is empty", path));
  }
  return text;
}

Result<std::unique_ptr<Talker>> load_talker(const TalkOptions& options) {
  // The engine's log is for servers; here only what went wrong matters, and not among the answers.
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "paternoster", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  spdlog::set_level(spdlog::level::warn);
  const std::string_view name = options.model.empty() ? model::kDefaultModel : options.model;
  Result<std::filesystem::path> path = obtain_model(name);
  if (!path) {
    return std::unexpected(path.error());
  }
  engine::EngineOptions engine;
  engine.model = *std::move(path);
  engine.max_seqs = 1;
  engine.threads = options.threads.value_or(0);
  if (!options.chat_template.empty()) {
    Result<std::string> source = read_file(options.chat_template);
    if (!source) {
      return std::unexpected(source.error());
    }
    engine.chat_template = *std::move(source);
  }
  Result<std::unique_ptr<api::Backend>> backend = engine::create_native_backend(std::move(engine));
  if (!backend) {
    return std::unexpected(backend.error());
  }
  return std::make_unique<BackendTalker>(*std::move(backend));
}

}  // namespace

void add_talk_options(CLI::App& app, TalkOptions& options, bool model_is_flag) {
  auto* model = app.add_option(model_is_flag ? "-m,--model" : "model", options.model,
                               "a name that `paternoster pull` knows, or a GGUF file");
  model->type_name("MODEL");
  auto* url = app.add_option("--url", options.url, "let the server at this address answer instead");
  url->type_name("http://HOST:PORT")->excludes(model);
  app.add_option("--api-key", options.api_key, "the key that the server wants")
      ->envname("PATERNOSTER_API_KEY");
  app.add_option("--system", options.system, "a system prompt")->type_name("TEXT");
  app.add_option("--max-tokens", options.max_tokens, "the most tokens of an answer")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->type_name("N");
  app.add_option("--temperature", options.temperature, "0: always the likeliest token")
      ->check(CLI::Range(0.0, 2.0))
      ->capture_default_str()
      ->type_name("T");
  app.add_option("--seed", options.seed, "the same seed gives the same answer")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  app.add_option("--threads", options.threads, "processors to use")
      ->check(CLI::Range(1, 1024))
      ->excludes(url)
      ->type_name("N");
  app.add_option("--chat-template", options.chat_template, "a Jinja file, instead of the model's own")
      ->excludes(url)
      ->type_name("FILE");
}

Result<std::unique_ptr<Talker>> make_talker(const TalkOptions& options) {
  if (options.url.empty()) {
    return load_talker(options);
  }
  const Result<client::ServerUrl> url = client::parse_server_url(options.url);
  if (!url) {
    return std::unexpected(url.error());
  }
  return connect_talker(*url, options.api_key);
}

Question new_question(const TalkOptions& options) {
  Question question;
  question.max_tokens = options.max_tokens;
  question.temperature = options.temperature;
  question.seed = options.seed;
  return question;
}

}  // namespace paternoster::cli
