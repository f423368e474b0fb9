#include "cli/bench_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <limits>

#include "base/duration.h"
#include "cli/failure.h"
#include "measure/objective.h"

namespace paternoster::cli {
namespace {

constexpr const char* kServer = "Server";
constexpr const char* kRun = "Run";
constexpr const char* kResult = "Result";

void add_server_options(CLI::App& app, BenchOptions& options) {
  app.add_option("url,--url", options.url, "http://HOST[:PORT][/PATH] or https://..., without /v1");
  app.add_option("--model", options.model, "what to ask for; otherwise the first of /v1/models")->group(kServer);
  app.add_option("--route", options.route, "chat or completions")
      ->check(CLI::IsMember({"chat", "completions"}))
      ->group(kServer);
  app.add_option("--api-key", options.api_key, "Bearer token")->envname("PATERNOSTER_API_KEY")->group(kServer);
  app.add_flag("--insecure", options.insecure, "do not check the certificate of an https server")->group(kServer);
  app.add_option("--timeout", options.timeout, "a request fails when nothing comes for so long")->group(kServer);
  app.add_flag("--plain", options.plain,
               "send only OpenAI's own fields: no ignore_eos, min_tokens and usage with every chunk")
      ->group(kServer);
  app.add_option("--extra-body", options.extra_body, "JSON object whose members go into every request")->group(kServer);
}

void add_run_options(CLI::App& app, BenchOptions& options) {
  app.add_option("--prompts", options.prompts,
                 "file of prompts, one a line: text, or JSON with messages, prompt or conversations")
      ->group(kRun);
  app.add_option("--duration", options.duration, "send for so long, instead of a number of requests")->group(kRun);
  app.add_option("--warm-up", options.warm_up, "requests before the clock starts")
      ->check(CLI::Range(0, 10000))
      ->group(kRun);
  app.add_option("--max-in-flight", options.max_in_flight, "most requests under way; 0: no limit")
      ->check(CLI::Range(0, 1 << 20))
      ->group(kRun);
  app.add_option("--temperature", options.temperature)->check(CLI::Range(0.0, 2.0))->group(kRun);
  app.add_flag("--natural-length", options.natural_length, "let answers end by themselves")->group(kRun);
  app.add_option("--tenant-key", options.tenant_keys, "NAME=KEY: a tenant's API key; may be given again")->group(kRun);
  app.add_flag("--check-counts", options.check_counts, "tokenize answers again (/tokenize) and compare with usage")
      ->group(kRun);
  app.add_option("--sweep", options.sweep,
                 "one run at each of these rates (closed arrivals: numbers of streams), ascending")
      ->delimiter(',')
      ->group(kRun);
  app.add_flag("--find-limit", options.find_limit, "search the highest rate that meets --slo, from --rate on")
      ->group(kRun);
  app.add_option("--precision", options.precision, "of that search, relative")
      ->check(CLI::Range(0.005, 0.5))
      ->group(kRun);
}

void add_result_options(CLI::App& app, BenchOptions& options) {
  app.add_option("--slo", options.slo, "for instance ttft=1s,itl=80ms@p95")->group(kResult);
  app.add_option("--label", options.label, "what this run is called in files")->group(kResult);
  app.add_option("--json", options.json, "write the figures here, under the keys of vLLM's benchmark")->group(kResult);
  app.add_option("--records", options.records, "write one line of JSON a request here")->group(kResult);
  app.add_option("--html", options.html, "write a report with plots here; it opens offline")->group(kResult);
  app.add_option("--overlay", options.overlays,
                 "records of another run, of bench or simulate, to lie in the report's plots; may be given again")
      ->group(kResult);
}

std::unexpected<Error> bad(std::string message) {
  return failure(ErrorCode::kInvalidArgument, std::move(message));
}

// What goes together, and flags that nothing would read.
void check_together(const CLI::App& app, const BenchOptions& options) {
  const WorkloadOptions& work = options.workload;
  const struct {
    bool wrong;
    const char* what;
  } rules[] = {
      {options.find_limit && options.slo.empty(), "--find-limit needs --slo"},
      {options.find_limit && !options.sweep.empty(), "either --find-limit or --sweep"},
      {!std::ranges::is_sorted(options.sweep), "--sweep: loads must be ascending"},
      {!options.sweep.empty() && options.sweep.front() <= 0, "--sweep: loads are above zero"},
      {!options.sweep.empty() && (work.rate || work.speed), "--sweep sets the rate: no --rate and --speed beside it"},
      {options.precision && !options.find_limit, "--precision says nothing without --find-limit"},
      {!options.overlays.empty() && options.html.empty(), "--overlay says nothing without --html"},
      {!options.duration.empty() && app.count("--requests") > 0, "either --duration or --requests"},
      {!options.prompts.empty() && (work.input || work.prefix_tokens > 0),
       "--prompts brings its own texts: no --input and --prefix-tokens beside it"},
      {options.plain && work.guesses, "--guesses is a field of this project's own, which --plain leaves out"},
      {!options.tenant_keys.empty() && work.tenants.empty() && work.trace.empty(),
       "--tenant-key says nothing without --tenant or a trace that has tenants"},
  };
  for (const auto& rule : rules) {
    if (rule.wrong) throw CLI::ValidationError(rule.what);
  }
}

Result<void> read_tenant_keys(const BenchOptions& options, bench::LoadOptions& load) {
  for (const std::string& text : options.tenant_keys) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
      return bad("'" + text + "' is not NAME=KEY");
    }
    load.tenant_keys[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return {};
}

Result<void> read_extra_body(const BenchOptions& options, bench::LoadOptions& load) {
  if (options.extra_body.empty()) return {};
  boost::system::error_code failed;
  const auto value = boost::json::parse(options.extra_body, failed);
  if (failed || !value.is_object()) return bad("--extra-body is no JSON object");
  load.body.extra_json = boost::json::serialize(value);
  return {};
}

Result<void> read_times(const BenchOptions& options, bench::SessionOptions& session) {
  const auto timeout = parse_duration(options.timeout);
  if (!timeout) return std::unexpected(timeout.error());
  session.server.silence_timeout = std::chrono::milliseconds(std::max<std::int64_t>(*timeout / 1'000'000, 1));
  if (options.duration.empty()) return {};
  const auto duration = parse_duration(options.duration);
  if (!duration) return std::unexpected(duration.error());
  if (*duration <= 0) return bad("--duration must be above zero");
  session.load.stop_sending_ns = *duration;
  return {};
}

}  // namespace

ParsedBench parse_bench(int argc, const char* const* argv) {
  ParsedBench parsed;
  BenchOptions& options = parsed.options;
  options.workload.requests = 100;
  options.workload.usual_input = "lognormal:128:0.6:1000";
  options.workload.usual_output = "lognormal:64:0.6:400";
  CLI::App app("Measures any OpenAI-compatible server. `paternoster bench compare A.json B.json` tells what differs\n"
               "between two results by more than chance.",
               "paternoster bench");
  add_server_options(app, options);
  add_workload_options(app, options.workload);
  add_run_options(app, options);
  add_result_options(app, options);
  try {
    app.parse(argc, argv);
    check_together(app, options);
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = fail_call(app, error);
    return parsed;
  }
  // A trace is played whole and a duration is filled unless a number was given.
  const bool counted = app.get_option("--requests")->count() > 0;
  const bool ramps = options.workload.arrivals.starts_with("ramp:");  // as many as come in it
  if (!counted && (!options.workload.trace.empty() || ramps)) options.workload.requests.reset();
  return parsed;
}

Result<bench::SessionOptions> session_options(const BenchOptions& options) {
  bench::SessionOptions session;
  auto url = client::parse_server_url(options.url);
  if (!url) return std::unexpected(url.error());
  session.server.url = std::move(*url);
  session.server.api_key = options.api_key;
  session.server.verify_tls = !options.insecure;
  session.load.body.route = options.route == "chat" ? api::Route::kChat : api::Route::kText;
  session.load.body.model = options.model;
  session.load.body.exact_length = !options.natural_length && !options.plain;
  session.load.body.continuous_usage = !options.plain;
  session.load.body.temperature = options.temperature;
  session.load.most_in_flight = options.max_in_flight;
  session.load.send_guesses = options.workload.guesses;
  session.prompts_file = options.prompts;
  session.warm_up = options.warm_up;
  session.check_counts = options.check_counts;
  if (!options.slo.empty()) {
    auto objectives = measure::parse_objectives(options.slo);
    if (!objectives) return std::unexpected(objectives.error());
    session.objectives = std::move(*objectives);
  }
  if (auto read = read_times(options, session); !read) return std::unexpected(read.error());
  if (auto read = read_tenant_keys(options, session.load); !read) return std::unexpected(read.error());
  if (auto read = read_extra_body(options, session.load); !read) return std::unexpected(read.error());
  return session;
}

}  // namespace paternoster::cli
