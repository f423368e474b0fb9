// `paternoster calibrate`: what a step costs on this machine, from its own steps or from logs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>

#include "base/duration.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/progress_line.h"
#include "cli/pull.h"
#include "cli/scheduler_options.h"
#include "cost/fit.h"
#include "cost/profile.h"
#include "engine/calibration_run.h"
#include "engine/loaded_model.h"
#include "engine/machine.h"
#include "kernels/isa.h"
#include "model/model_path.h"
#include "scheduler/presets.h"
#include "simulator/fit_requests.h"

namespace paternoster::cli {
namespace {

struct CalibrateOptions {
  std::string model;
  std::string step_log;
  std::string requests;
  double share = 1;
  double seconds = 25;
  int threads = 0;
  std::string out;
  std::string name;
  SchedulerOptions scheduler;
};

// What `serve` takes if nobody says otherwise, and a cache of a thousand tokens a seat.
cost::Profile usual_profile(const SchedulerOptions& options, std::int32_t trained_context) {
  cost::Profile profile;
  profile.max_seqs = options.max_seqs.value_or(32);
  profile.step_tokens = options.step_tokens.value_or(std::max(512, profile.max_seqs));
  profile.max_len = std::min(options.max_len.value_or(8192), trained_context);
  profile.block_size = options.block_size.value_or(16);
  profile.kv_tokens = options.kv_tokens.value_or(std::max<std::int64_t>(std::int64_t{profile.max_seqs} * 1024,
                                                                        profile.max_len));
  return profile;
}

Result<void> write(const std::string& path, const cost::Profile& profile) {
  std::ofstream out(path, std::ios::binary);
  out << cost::profile_json(profile) << '\n';
  out.close();
  if (!out) return failure(ErrorCode::kUnavailable, "cannot write " + path);
  fmt::print("written to {}; use it with simulate --on {} or advise --on {}\n", path, path, path);
  return {};
}

// The slope of a log's steps, the gap between them, and the words for a person.
Result<void> fit_into(cost::Profile& profile, const std::vector<cost::TimedStep>& steps) {
  const auto fit = cost::fit_steps(steps);
  if (!fit) return std::unexpected(fit.error());
  profile.model.terms = fit->terms;
  profile.model.step_overhead_ns = cost::gap_between_steps_ns(steps);
  fmt::print("{}\nbetween two steps: {}\n", cost::describe(*fit),
             duration_text(static_cast<double>(profile.model.step_overhead_ns)));
  return {};
}

Result<cost::Profile> from_engine(const CalibrateOptions& options) {
  const std::string wanted = options.model.empty() ? std::string(model::kDefaultModel) : options.model;
  const auto file = obtain_model(wanted);
  if (!file) return std::unexpected(file.error());
  const int threads = options.threads > 0 ? options.threads : engine::read_machine().processors;
  engine::ThreadPool pool(threads);
  auto loaded = engine::load(*file, pool);
  if (!loaded) return std::unexpected(loaded.error());
  const auto trained = static_cast<std::int32_t>(loaded->packed.config().context_length);
  cost::Profile profile = usual_profile(options.scheduler, trained);
  engine::CalibrationPlan plan;
  plan.limits.max_seqs = profile.max_seqs;
  plan.limits.step_tokens = profile.step_tokens;
  plan.limits.max_len = std::min(profile.max_len, 2048);  // longer prompts only cost time here
  plan.limits.block_size = profile.block_size;
  plan.limits.num_blocks = (profile.max_seqs * 16 + plan.limits.max_len + 4096) / profile.block_size + profile.max_seqs;
  plan.limits.max_queue = 1 << 20;
  plan.budget_ns = static_cast<std::int64_t>(options.seconds * 1e9);
  ProgressLine progress;
  plan.on_progress = [&](std::int64_t spent_ns) {
    progress.show("measuring steps", static_cast<std::uint64_t>(spent_ns), static_cast<std::uint64_t>(plan.budget_ns));
  };
  const auto steps = engine::run_calibration(loaded->packed, pool, plan);
  progress.clear();
  profile.name = wanted;
  profile.source = fmt::format("paternoster calibrate {}: {} steps, {} threads, kernels {}", wanted, steps.size(),
                               threads, kernels::isa_name(kernels::active_isa()));
  profile.serve = "paternoster serve " + wanted;
  fmt::print("{}\n", profile.source);
  if (auto fitted = fit_into(profile, steps); !fitted) return std::unexpected(fitted.error());
  return profile;
}

Result<cost::Profile> from_step_log(const CalibrateOptions& options) {
  const auto steps = cost::read_step_log(options.step_log);
  if (!steps) return std::unexpected(steps.error());
  cost::Profile profile = usual_profile(options.scheduler, 8192);
  profile.name = options.step_log;
  profile.source = "fitted to the step log " + options.step_log;
  if (auto fitted = fit_into(profile, *steps); !fitted) return std::unexpected(fitted.error());
  return profile;
}

void print_means(const char* name, const simulator::MeanTimes& real, const simulator::MeanTimes& simulated) {
  const auto off = [](double a, double b) { return a > 0 ? 100 * (b - a) / a : 0; };
  fmt::print("  {:<22} TTFT {:>8} {:>8} ({:+.1f} %)  TPOT {:>8} {:>8} ({:+.1f} %)  E2E {:>8} {:>8} ({:+.1f} %)\n", name,
             duration_text(real.ttft_ns), duration_text(simulated.ttft_ns), off(real.ttft_ns, simulated.ttft_ns),
             duration_text(real.tpot_ns), duration_text(simulated.tpot_ns), off(real.tpot_ns, simulated.tpot_ns),
             duration_text(real.e2e_ns), duration_text(simulated.e2e_ns), off(real.e2e_ns, simulated.e2e_ns));
}

void print_fit(const simulator::RequestFit& fit, std::size_t count) {
  const cost::StepTerms& terms = fit.model.terms;
  fmt::print("a step takes {:.3f} ms + {:.3f} us a token + {:.3f} ns a position decodes attend to + {:.4f} ns a pair "
             "of chunk and context ({} simulations)\n",
             static_cast<double>(terms.fixed_ps) / 1e9, static_cast<double>(terms.decode_token_ps) / 1e6,
             static_cast<double>(terms.decode_context_ps) / 1e3, static_cast<double>(terms.chunk_context_ps) / 1e3,
             fit.simulations);
  fmt::print("means, measured and simulated:\n");
  print_means(fmt::format("fitted, first {}", fit.fitted).c_str(), fit.fitted_real, fit.fitted_simulated);
  if (fit.fitted < count) {
    print_means(fmt::format("predicted, other {}", count - fit.fitted).c_str(), fit.rest_real, fit.rest_simulated);
  }
  const double makespan = static_cast<double>(fit.makespan_simulated_ns - fit.makespan_real_ns) /
                          static_cast<double>(std::max<std::int64_t>(fit.makespan_real_ns, 1));
  fmt::print("makespan {} and {} ({:+.1f} %); E2E of a single {} request off by {:.1f} % on average; {} preemptions "
             "simulated\n",
             duration_text(static_cast<double>(fit.makespan_real_ns)),
             duration_text(static_cast<double>(fit.makespan_simulated_ns)), 100 * makespan,
             fit.fitted < count ? "predicted" : "fitted", 100 * fit.request_error, fit.preemptions);
}

Result<cost::Profile> from_requests(const CalibrateOptions& options) {
  std::ifstream in(options.requests, std::ios::binary);
  if (!in) return failure(ErrorCode::kNotFound, "cannot read the request log " + options.requests);
  const auto requests = simulator::read_measured(in, options.requests);
  if (!requests) return std::unexpected(requests.error());
  cost::Profile profile = usual_profile(options.scheduler, 1 << 24);
  const std::string preset =
      options.scheduler.presets.empty() ? std::string(scheduler::kDefaultPreset) : options.scheduler.presets.front();
  auto config = configure(options.scheduler, preset, profile);
  if (!config) return std::unexpected(config.error());
  config->limits.prefix_cache = false;
  const auto fit = simulator::fit_requests(*requests, *config, options.share);
  if (!fit) return std::unexpected(fit.error());
  print_fit(*fit, requests->size());
  constexpr double kWorst = 0.25;
  if (fit->request_error > kWorst) {
    return failure(ErrorCode::kInvalidArgument,
                   "the requests do not follow the simulation under these limits and this preset, so nothing is "
                   "predicted from them");
  }
  profile.name = options.requests;
  profile.source = "fitted to the requests in " + options.requests;
  profile.model = fit->model;
  return profile;
}

int run_calibrate(const CalibrateOptions& options) {
  const auto profile = !options.step_log.empty()   ? from_step_log(options)
                       : !options.requests.empty() ? from_requests(options)
                                                   : from_engine(options);
  if (!profile) return fail("calibrate", profile.error());
  if (options.out.empty()) return 0;
  cost::Profile named = *profile;
  if (!options.name.empty()) named.name = options.name;
  if (auto written = write(options.out, named); !written) return fail("calibrate", written.error());
  return 0;
}

}  // namespace

int calibrate(int argc, char** argv) {
  CalibrateOptions options;
  CLI::App app("Fits what a step costs: by measuring this machine for half a minute, or from a log.",
               "paternoster calibrate");
  auto* model = app.add_option("model,--model", options.model, "a GGUF file, or a name that `pull` knows");
  auto* log =
      app.add_option("--step-log", options.step_log, "a log that serve --step-log has written")->excludes(model);
  app.add_option("--requests", options.requests,
                 "what became of requests on another engine: JSON lines of simulate, bench or vLLM's engine")
      ->excludes(model)
      ->excludes(log);
  app.add_option("--share", options.share, "with --requests: fit this share of them, predict the others")
      ->check(CLI::Range(0.01, 1.0));
  app.add_option("--seconds", options.seconds, "how long to measure")->check(CLI::Range(1.0, 3600.0));
  app.add_option("--threads", options.threads, "compute threads; 0: as many as there are cores")
      ->check(CLI::Range(0, 1024));
  app.add_option("-o,--out", options.out, "calibration file to write");
  app.add_option("--name", options.name, "what the engine is called in it");
  add_scheduler_options(app, options.scheduler);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return fail_call(app, error);
  }
  return run_calibrate(options);
}

}  // namespace paternoster::cli
