// `paternoster compare`: the same requests under each preset in turn, on one machine, and a verdict.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <thread>

#include "bench/policies.h"
#include "bench/run_json.h"
#include "bench/session.h"
#include "cli/commands.h"
#include "cli/compare_options.h"
#include "cli/compare_report.h"
#include "cli/engine_process.h"
#include "cli/failure.h"
#include "cli/progress_line.h"
#include "scheduler/presets.h"

namespace paternoster::cli {
namespace {

using bench::PolicyRun;

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::vector<std::string> serve_arguments(const CompareOptions& options, const std::string& preset) {
  std::vector<std::string> arguments{options.model, "--preset", preset, "--max-seqs", std::to_string(options.max_seqs),
                                     "--step-tokens", std::to_string(options.step_tokens)};
  const auto add = [&](const char* flag, auto value) {
    arguments.push_back(flag);
    arguments.push_back(std::to_string(value));
  };
  if (options.max_len) add("--max-len", *options.max_len);
  if (options.kv_tokens) add("--kv-tokens", *options.kv_tokens);
  if (options.threads > 0) add("--threads", options.threads);
  return arguments;
}

// The loads of the comparison: numbers of overlapping requests, then the trace.
struct Load {
  std::string name;
  std::int32_t overlap = 0;
  workload::Description work;
};

Result<std::vector<Load>> loads_of(const CompareOptions& options) {
  WorkloadOptions plain = options.workload;
  plain.trace.clear();
  plain.requests = options.requests;
  auto work = describe_workload(plain);
  if (!work) return std::unexpected(work.error());
  std::vector<Load> loads;
  for (const std::int32_t streams : options.streams) {
    Load load{fmt::format("{} {}", streams, streams == 1 ? "stream" : "streams"), streams, *work};
    load.work.arrivals.emplace();
    load.work.arrivals->kind = workload::Arrivals::Kind::kClosed;
    load.work.arrivals->streams = streams;
    loads.push_back(std::move(load));
  }
  if (options.workload.trace.empty()) return loads;
  WorkloadOptions traced = options.workload;
  traced.classes.clear();
  traced.requests = options.requests;
  auto trace = describe_workload(traced);
  if (!trace) return std::unexpected(trace.error());
  loads.push_back({"trace", 0, std::move(*trace)});
  return loads;
}

Settings limits_of(const CompareOptions& options) {
  std::string classes;
  for (const std::string& text : options.workload.classes) classes += (classes.empty() ? "" : " | ") + text;
  Settings all{{"model", options.model},
               {"hardware", fmt::format("{}, {} threads", processor_name(),
                                        options.threads > 0 ? options.threads
                                                            : static_cast<int>(std::thread::hardware_concurrency()))},
               {"arrivals", "closed loop: a stream sends when its last request is answered"},
               {"lengths", classes},
               {"requests of each run", std::to_string(options.requests)},
               {"seats (max sequences)", std::to_string(options.max_seqs)},
               {"token budget of a step", std::to_string(options.step_tokens)},
               {"seed", std::to_string(options.workload.seed)},
               {"targets", options.slo}};
  if (options.max_len) all.emplace_back("context", std::to_string(*options.max_len));
  if (options.kv_tokens) all.emplace_back("KV tokens", std::to_string(*options.kv_tokens));
  if (!options.workload.trace.empty()) {
    all.emplace_back("trace", fmt::format("{} x {:.3g} speed", options.workload.trace,
                                                options.workload.speed.value_or(1)));
  }
  return all;
}

Result<std::unique_ptr<bench::Session>> open_session(const CompareOptions& options, const EngineProcess& engine) {
  bench::SessionOptions session;
  const auto url = client::parse_server_url(engine.url());
  if (!url) return std::unexpected(url.error());
  session.server.url = *url;
  session.warm_up = options.warm_up;
  const auto objectives = measure::parse_objectives(options.slo);
  if (!objectives) return std::unexpected(objectives.error());
  session.objectives = *objectives;
  return bench::Session::open(std::move(session));
}

bool is_continuous(const std::string& preset) {
  const auto choices = scheduler::choices_of(preset);
  return choices && choices->boarding == scheduler::Boarding::kContinuous;
}

// All loads under one preset, each a run. An engine that does not start is told, and the others go on.
Result<void> run_preset(const CompareOptions& options, const std::string& preset, bool again,
                        const std::vector<Load>& loads, std::vector<PolicyRun>& runs) {
  const auto engine = EngineProcess::start(serve_arguments(options, preset));
  if (!engine) {
    fmt::print("{}: {}\n", preset, engine.error().message);
    for (const Load& load : loads) {
      runs.push_back({preset, load.name, load.overlap, {}, true, is_continuous(preset), again});
    }
    return {};
  }
  auto session = open_session(options, *engine);
  if (!session) return std::unexpected(session.error());
  if (auto warm = (*session)->warm_up(loads.front().work); !warm) return std::unexpected(warm.error());
  ProgressLine progress;
  for (const Load& load : loads) {
    const std::string label = preset + (again ? " again, " : ", ") + load.name;
    auto run = (*session)->run(load.work, label, [&](const bench::Progress& at) {
      progress.show(label, at.completed + at.failed, at.planned);
    });
    progress.clear();
    if (!run) return std::unexpected(run.error());
    if ((*session)->interrupted()) return failure(ErrorCode::kUnavailable, "stopped");
    fmt::print("{}: {:.1f} output tok/s, TTFT p95 {:.0f} ms, {} of {} done\n", label, run->summary.output_rate(),
               run->summary.all.ttft.percentile(95) / 1e6, run->summary.all.completed, run->summary.all.total());
    std::fflush(stdout);
    const bool nothing = run->summary.all.completed == 0;
    runs.push_back({preset, load.name, load.overlap, std::move(*run), nothing, is_continuous(preset), again});
  }
  return {};
}

Result<void> write_files(const CompareOptions& options, const std::vector<PolicyRun>& runs,
                         const bench::PolicyVerdict& verdict) {
  const Settings settings = limits_of(options);
  if (!options.json.empty()) {
    std::string lines;
    for (const PolicyRun& run : runs) lines += policy_json(run, settings);
    if (auto done = bench::write_file(options.json, lines); !done) return done;
  }
  if (options.html.empty()) return {};
  report::Document document = policies_document(runs, verdict, settings);
  document.subtitle = fmt::format("paternoster compare {}, {:%Y-%m-%d %H:%M} UTC, {}", version(),
                                  fmt::gmtime(std::time(nullptr)), options.model);
  return bench::write_file(options.html, report::to_html(document));
}

Result<void> compare_presets(const CompareOptions& options) {
  const auto loads = loads_of(options);
  if (!loads) return std::unexpected(loads.error());
  std::vector<PolicyRun> runs;
  for (const std::string& preset : options.presets) {
    if (auto run = run_preset(options, preset, false, *loads, runs); !run) return run;
  }
  // The others are held to its first run; if it has moved by now, so has the machine under them.
  if (options.presets.size() > 1) {
    if (auto run = run_preset(options, kBaseline, true, *loads, runs); !run) return run;
  }
  fmt::print("\n{}\n", settings_text(limits_of(options)));
  for (const Load& load : *loads) fmt::print("{}\n", policies_text(runs, load.name));
  const bench::PolicyVerdict verdict = bench::judge_policies(runs, kBaseline);
  for (const std::string& sentence : verdict.sentences) fmt::print("{}\n", sentence);
  return write_files(options, runs, verdict);
}

}  // namespace

int compare(int argc, char** argv) {
  const ParsedCompare parsed = parse_compare(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  const auto done = compare_presets(parsed.options);
  return done ? 0 : fail("compare", done.error());
}

}  // namespace paternoster::cli
