#include "cli/compare_options.h"

#include <CLI/CLI.hpp>

#include "cli/failure.h"
#include "model/model_path.h"
#include "scheduler/presets.h"

namespace paternoster::cli {
namespace {

// Conversations at home: many short turns, and now and then a document.
const std::vector<std::string> kClasses{
    "short,share=3,input=lognormal:60:0.5:300,output=lognormal:40:0.5:160",
    "long,share=1,input=lognormal:400:0.4:1200,output=lognormal:160:0.4:400"};

void add_work_options(CLI::App& app, CompareOptions& options) {
  app.add_option("--streams", options.streams, "overlapping requests, one run each")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  app.add_option("--requests", options.requests, "requests of each run")->check(CLI::Range(8, 1 << 20));
  app.add_option("--class", options.workload.classes,
                 "NAME,share=N,input=LENGTHS,output=LENGTHS, as in simulate; may be given again (now short and long)");
  app.add_option("--trace", options.workload.trace, "play this trace too, with its own times");
  app.add_option("--trace-format", options.workload.trace_format, "if it is not found out");
  app.add_option("--speed", options.workload.speed, "play the trace so many times as fast");
  app.add_option("--seed", options.workload.seed, "of lengths and prompts, the same for every preset");
  app.add_option("--slo", options.slo, "the targets: ttft=2s,itl=200ms@p95");
  app.add_option("--warm-up", options.warm_up, "requests before each preset's first run")->check(CLI::Range(0, 1000));
}

void add_engine_options(CLI::App& app, CompareOptions& options) {
  app.add_option("--max-seqs", options.max_seqs, "seats")->check(CLI::Range(1, 4096));
  app.add_option("--step-tokens", options.step_tokens, "most tokens computed in a step")->check(CLI::Range(1, 1 << 20));
  app.add_option("--max-len", options.max_len, "context of a sequence")->check(CLI::Range(1, 1 << 30));
  app.add_option("--kv-tokens", options.kv_tokens, "size of the KV cache in tokens")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  app.add_option("--threads", options.threads, "compute threads; 0: as many as there are cores")
      ->check(CLI::Range(0, 1024));
}

}  // namespace

ParsedCompare parse_compare(int argc, const char* const* argv) {
  ParsedCompare parsed;
  CompareOptions& options = parsed.options;
  CLI::App app("Starts the engine under each preset in turn, plays the same overlapping requests to it, and tells\n"
               "whether continuous batching pays for them and which setting meets the targets.",
               "paternoster compare");
  app.add_option("model,--model", options.model, "a GGUF file, or a name that `pull` knows");
  app.add_option("--presets", options.presets, "of " + scheduler::preset_names() + "; all of them unless given")
      ->delimiter(',');
  add_work_options(app, options);
  add_engine_options(app, options);
  app.add_option("--json", options.json, "write one line of figures a run here");
  app.add_option("--html", options.html, "write a report with plots here; it opens offline");
  try {
    app.parse(argc, argv);
    for (const std::string& preset : options.presets) {
      if (const auto known = scheduler::choices_of(preset); !known) throw CLI::ValidationError(known.error().message);
    }
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = fail_call(app, error);
    return parsed;
  }
  if (options.model.empty()) options.model = model::kDefaultModel;
  if (options.workload.classes.empty()) options.workload.classes = kClasses;
  if (options.presets.empty()) {
    for (const scheduler::Preset& preset : scheduler::presets()) options.presets.emplace_back(preset.name);
  }
  std::erase(options.presets, kBaseline);
  options.presets.insert(options.presets.begin(), kBaseline);
  return parsed;
}

}  // namespace paternoster::cli
