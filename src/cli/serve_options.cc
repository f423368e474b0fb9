#include "cli/serve_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <toml++/toml.h>

#include "cli/duration_option.h"
#include "cli/failure.h"
#include "cli/setting_rules.h"
#include "fleet/presets.h"
#include "kernels/attention.h"
#include "model/model_path.h"
#include "scheduler/presets.h"

namespace paternoster::cli {
namespace {

constexpr std::uint64_t kDefaultSwapBytes = std::uint64_t{512} << 20;
constexpr std::int32_t kMostInt = std::numeric_limits<std::int32_t>::max();

std::string variable_of(std::string_view flag) {
  std::string name = "PATERNOSTER_";
  for (const char c : flag) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

std::vector<std::string> texts_of(const toml::node& node) {
  std::vector<std::string> texts;
  const auto add = [&](const toml::node& value) {
    if (const auto text = value.value<std::string>()) {
      texts.push_back(*text);
      return;
    }
    std::ostringstream out;
    value.visit([&](const auto& inner) {
      if constexpr (toml::is_value<decltype(inner)>) out << std::boolalpha << *inner;
    });
    texts.push_back(out.str());
  };
  if (const toml::array* list = node.as_array()) {
    list->for_each([&](const auto& member) { add(member); });
  } else {
    add(node);
  }
  return texts;
}

// True when the environment sets this flag: CLI11 asks it after the file, yet it must win over the file.
bool is_in_environment(std::string_view flag) {
  const char* value = std::getenv(variable_of(flag).c_str());
  return value != nullptr && *value != '\0';
}

// Lets CLI11 read TOML through toml++; unknown keys become CLI11's error.
class TomlConfig final : public CLI::Config {
 public:
  std::string to_config(const CLI::App*, bool, bool, std::string) const override { return {}; }

  std::vector<CLI::ConfigItem> from_config(std::istream& in) const override {
    toml::table table;
    try {
      table = toml::parse(in);
    } catch (const toml::parse_error& error) {
      throw CLI::ConfigError(fmt::format("not valid TOML in line {}: {}", error.source().begin.line,
                                         error.description()));
    }
    std::vector<CLI::ConfigItem> settings;
    for (const auto& [key, node] : table) {
      if (node.is_table()) {
        throw CLI::ConfigError(fmt::format("unknown section [{}]", std::string_view(key.str())));
      }
      if (is_in_environment(key.str())) continue;
      settings.push_back({{}, std::string(key.str()), texts_of(node)});
    }
    return settings;
  }
};

void add_limits(CLI::App& app, ServeOptions& options) {
  app.add_option("--max-seqs", options.max_seqs, "seats: sequences that run at once")
      ->check(CLI::Range(1, 4096));
  app.add_option("--max-len", options.max_len, "context of a sequence, prompt and answer, in tokens")
      ->check(CLI::Range(1, kMostInt));
  auto* tokens = app.add_option("--kv-tokens", options.kv_tokens, "size of the KV cache in tokens")
                     ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  app.add_option_function<std::string>(
         "--kv-memory",
         [&options](const std::string& text) {
           const auto bytes = parse_bytes(text);
           if (!bytes) throw CLI::ValidationError("--kv-memory", bytes.error().message);
           options.kv_memory_bytes = *bytes;
         },
         "size of the KV cache in bytes: 512M, 2G")
      ->excludes(tokens);
  app.add_option_function<std::string>(
         "--kv-type",
         [&options](const std::string& text) {
           const auto type = kernels::parse_kv_type(text);
           if (!type) throw CLI::ValidationError("--kv-type", "'" + text + "' is none of f16, bf16, q8_0");
           options.kv_type = *type;
         },
         "how keys and values are kept: f16, bf16, or q8_0, which takes about half the memory")
      ->default_str("f16");
  app.add_option("--step-tokens", options.step_tokens, "most tokens computed in a step")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--max-queue", options.max_queue, "most requests that wait")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--threads", options.threads, "compute threads; 0: as many as there are cores")
      ->check(CLI::Range(0, 1024));
}

void add_scheduling(CLI::App& app, ServeOptions& options) {
  scheduler::ChoiceNames& choices = options.choices;
  scheduler::Tuning& tuning = options.tuning;
  app.add_option("--preset", options.preset, "how the scheduler decides: " + scheduler::preset_names());
  app.add_option("--boarding", choices.boarding, "who boards when: " + scheduler::boarding_names());
  app.add_option("--order", choices.order, "who comes first: " + scheduler::order_names());
  app.add_option("--prefill", choices.prefill, "how prompts share a step: " + scheduler::prefill_names());
  app.add_option("--relief", choices.relief, "what frees KV blocks: " + scheduler::relief_names());
  app.add_option_function<std::string>(
      "--swap-memory",
      [&options](const std::string& text) {
        const auto bytes = parse_bytes(text);
        if (!bytes) throw CLI::ValidationError("--swap-memory", bytes.error().message);
        options.swap_bytes = *bytes;
      },
      "room for relief swap and auto, in memory or in the --swap-file: 512M (the default there), 2G");
  app.add_option("--swap-file", options.swap_file,
                 "a new file for what is swapped out, instead of memory; it has no name while it is used");
  app.add_option("--victim", choices.victim, "who gives way first: " + scheduler::victim_names());
  app.add_option("--speculate", choices.speculation,
                 "guess tokens ahead where that is cheap; answers stay the same: " + scheduler::speculation_names());
  app.add_option("--speculate-tokens", tuning.draft_tokens, "most guesses of a sequence in one step")
      ->check(CLI::Range(1, 31));
  app.add_option("--speculate-seqs", tuning.draft_seqs, "nobody guesses while more sequences than this run")
      ->check(CLI::Range(1, 1 << 20));
  add_duration(app, "--itl-target", tuning.itl_target_ns, "longest gap in a stream, for prefill latency_target: 50ms",
               true);
  add_duration(app, "--window", tuning.window_ns, "how long boarding window gathers arrivals: 100ms", true);
  app.add_option("--window-seqs", tuning.window_seqs, "sequences that close boarding window early; 0: all seats")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--slice-tokens", tuning.slice_tokens, "output tokens of a slice (boarding sliced; engines)")
      ->check(CLI::Range(1, kMostInt));
  add_duration(app, "--ageing", tuning.ageing_ns, "order priority: a wait that outweighs one class: 10s", true);
  add_duration(app, "--promotion", tuning.promotion_ns,
               "orders shortest, deadline, multilevel: a wait after which nobody new is preferred", true);
  add_duration(app, "--quantum", tuning.quantum_ns, "order multilevel: steps of the highest level: 100ms", true);
}

void add_instances(CLI::App& app, ServeOptions& options) {
  auto* instances = app.add_option("--instances", options.instances,
                                   "engines in this process, which share threads, seats and KV cache evenly")
                        ->check(CLI::Range(1, 256));
  app.add_option_function<std::string>(
         "--fleet",
         [&options](const std::string& word) {
           if (auto config = fleet::config_of(word, {}); !config) {
             throw CLI::ValidationError("--fleet", config.error().message);
           }
           options.fleet = word;
         },
         "how calls, or slices of them, are shared out between engines: " + fleet::preset_names() +
             "; by default scls and cluster with the presets of these names, spread with others")
      ->needs(instances);
  add_duration(app, "--fleet-interval", options.fleet_interval_ns,
               "least time between two looks at who waits for a batch, for --fleet sls to scls_keep: 100ms", true)
      ->needs(instances);
  app.add_option_function<std::string>(
         "--placement",
         [&options](const std::string& word) {
           const auto placement = fleet::placement_of(word);
           if (!placement) throw CLI::ValidationError("--placement", placement.error().message);
           options.placement = *placement;
         },
         "which engine a call or a batch goes to: round_robin, least_loaded (fewest requests), max_min (least "
         "estimated time), prefix (whoever knows its beginning)")
      ->needs(instances);
}

void add_options(CLI::App& app, ServeOptions& options) {
  app.add_option("model,--model", options.model, "a GGUF file, or a name that `pull` knows");
  app.add_option("--host", options.host, "address to listen on");
  app.add_option("--port", options.port, "port to listen on; 0: any free one")
      ->check(CLI::Range(0, 65535));
  add_limits(app, options);
  add_scheduling(app, options);
  add_instances(app, options);
  app.add_option("--api-key-file", options.api_key_file,
                 "file with one API key a line, and its terms (docs/api.md); read again on SIGHUP");
  app.add_flag("--log-json", options.log_json, "log one JSON object a line");
  app.add_option("--chat-template", options.chat_template, "Jinja file instead of the model's own");
  app.add_option("--served-model-name", options.served_model_names,
                 "names clients use for the model; the first is the one it answers to by default")
      ->delimiter(',');
  app.add_option("--allow-host", options.allowed_hosts,
                 "further names that may stand in the Host header")
      ->delimiter(',');
  app.add_option("--journal", options.journal, "file for a record of every decision, for replay");
  app.add_option("--step-log", options.step_log, "file for every step's load and time, for `calibrate`");
  app.add_option("--trace", options.trace, "file for a trace of steps, sequences and waits, for ui.perfetto.dev");
  app.add_option("--drain-timeout", options.drain_timeout_s,
                 "seconds that running requests have after SIGTERM; 0: as long as they take")
      ->check(CLI::Range(0, 86400));
  app.add_option("--stall-timeout", options.stall_timeout_s,
                 "seconds without the end of a step, with work to do, after which /health/ready is 503")
      ->check(CLI::Range(0.01, 86400.0));
  app.add_flag("--share-prefixes", options.share_prefixes, "cached prefixes are shared between API keys");
  app.add_flag("--metrics-tenants", options.metrics_tenants, "histograms of each tenant, by name, in /metrics");
  app.add_flag("--check-invariants", options.check_invariants,
               "check the scheduler after every step and abort if it is wrong");
}

bool swaps(const ServeOptions& options) {
  const auto choices = scheduler::choose(options.preset, options.choices);
  return choices && (choices->relief == scheduler::Relief::kSwap || choices->relief == scheduler::Relief::kAuto);
}

// What the fleet decides by; none: there is one engine.
std::optional<fleet::Config> chosen_fleet(const ServeOptions& options) {
  if (options.instances == 1) return std::nullopt;
  fleet::Limits limits;
  limits.slice_tokens = options.tuning.slice_tokens;
  const auto preset = options.fleet.empty() ? fleet::preset_with(options.preset) : std::string_view(options.fleet);
  const auto config = fleet::config_of(preset, limits);
  return config ? std::optional(*config) : std::nullopt;
}

// A setting that no choice reads would be believed to do something: it is refused. None: all is well.
std::optional<std::string> unread_setting(const CLI::App& app, const ServeOptions& options) {
  const auto choices = scheduler::choose(options.preset, options.choices);
  if (!choices) return choices.error().message;
  const auto fleet = chosen_fleet(options);
  const bool fleet_slices = fleet && fleet->limits.slice_tokens != fleet::kWholeRequest;
  const bool fleet_waits = fleet && fleet->choices.dispatch != fleet::Dispatch::kAtOnce;
  if (fleet_slices && options.choices.boarding && options.choices.boarding->starts_with("sliced")) {
    return "--boarding " + *options.choices.boarding +
           " would cut slices that the fleet has cut already: leave it out, or choose another --fleet";
  }
  std::vector<SettingRule> rules = setting_rules(*choices);
  for (SettingRule& rule : rules) {
    if (rule.flag == "--slice-tokens") rule.read |= fleet_slices;
  }
  rules.push_back({"--swap-file", swaps(options), "--relief swap"});
  rules.push_back({"--fleet", fleet.has_value(), "--instances 2 or more"});
  rules.push_back({"--placement", fleet.has_value(), "--instances 2 or more"});
  rules.push_back({"--fleet-interval", fleet_waits, "several --instances and a --fleet that waits (sls to scls_keep)"});
  for (const SettingRule& rule : rules) {
    const CLI::Option* option = app.get_option_no_throw(std::string(rule.flag));
    if (option != nullptr && option->count() > 0 && !rule.read) {
      return fmt::format("{} has an effect only with {}, or a preset that has it", rule.flag, rule.needs);
    }
  }
  return std::nullopt;
}

void read_variables(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string name = option->get_single_name();
    if (name != "help") option->envname(variable_of(name));
  }
}

}  // namespace

Result<std::uint64_t> parse_bytes(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return std::tolower(c); });
  int shift = -1;
  if (unit.empty() || unit == "b") shift = 0;
  if (unit == "k" || unit == "kb" || unit == "kib") shift = 10;
  if (unit == "m" || unit == "mb" || unit == "mib") shift = 20;
  if (unit == "g" || unit == "gb" || unit == "gib") shift = 30;
  if (unit == "t" || unit == "tb" || unit == "tib") shift = 40;
  const bool fits = shift >= 0 && number <= (std::numeric_limits<std::uint64_t>::max() >> shift);
  if (error != std::errc() || !fits || number == 0) {
    return failure(ErrorCode::kInvalidArgument, "'" + text + "' is not a size like 512M or 2G");
  }
  return number << shift;
}

ParsedServe parse_serve(int argc, const char* const* argv) {
  ParsedServe parsed;
  ServeOptions& options = parsed.options;
  CLI::App app("Answers OpenAI-compatible requests and shows the lift at /.", "paternoster serve");
  add_options(app, options);
  read_variables(app);
  app.set_config("--config", "", "TOML file with any of these options")->envname("PATERNOSTER_CONFIG");
  app.config_formatter(std::make_shared<TomlConfig>());
  app.allow_config_extras(false);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = fail_call(app, error);
    // A bad configuration file is a bad file; everything else is a wrong call.
    const bool file = dynamic_cast<const CLI::FileError*>(&error) != nullptr ||
                      dynamic_cast<const CLI::ConfigError*>(&error) != nullptr;
    if (file) parsed.exit_code = 1;
    return parsed;
  }
  if (options.model.empty()) options.model = model::kDefaultModel;
  if (options.preset.empty()) options.preset = scheduler::kDefaultPreset;
  if (app.count("--swap-memory") == 0 && swaps(options)) options.swap_bytes = kDefaultSwapBytes;
  if (const auto reason = unread_setting(app, options)) {
    std::fprintf(stderr, "paternoster serve: %s\n", reason->c_str());
    parsed.exit_code = 2;
  }
  return parsed;
}

}  // namespace paternoster::cli
