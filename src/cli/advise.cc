// `paternoster advise`: the settings under which an engine meets an SLO up to the highest rate.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>

#include "base/duration.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/progress_line.h"
#include "cli/scheduler_options.h"
#include "cli/simulate_job.h"
#include "cli/simulate_report.h"
#include "cli/workload_options.h"
#include "cost/profile.h"
#include "scheduler/presets.h"
#include "simulator/advisor.h"

namespace paternoster::cli {
namespace {

using simulator::Advice;
using simulator::Tried;

struct AdviseOptions {
  WorkloadOptions workload;
  SchedulerOptions scheduler;
  std::string on;
  std::string slo;
  std::string html;
  std::int32_t allowed_tokens = 0;
  std::vector<std::int32_t> instances{1, 2, 4, 8};
};

// Enough for a p99, few enough to simulate hundreds of times.
constexpr std::size_t kUsualRequests = 2000;

std::vector<std::int32_t> doubled(std::int32_t from, std::int32_t to) {
  std::vector<std::int32_t> list;
  for (std::int32_t value = from; value <= to; value *= 2) list.push_back(value);
  return list;
}

std::string settings_of(const Tried& tried) {
  const scheduler::Limits& limits = tried.candidate.config.limits;
  const scheduler::Boarding boarding = tried.candidate.config.choices.boarding;
  std::string text = fmt::format("--preset {} --step-tokens {} --max-seqs {}", tried.candidate.preset,
                                 limits.step_tokens, limits.max_seqs);
  if (boarding == scheduler::Boarding::kSliced || boarding == scheduler::Boarding::kSlicedKeep) {
    text += fmt::format(" --slice-tokens {}", tried.candidate.config.tuning.slice_tokens);
  }
  return text;
}

// " x 4", and how requests are placed among them.
std::string fleet_of(const Tried& tried) {
  if (tried.candidate.instances == 1) return "";
  return fmt::format(" x {}{}", tried.candidate.instances,
                     tried.candidate.placement == fleet::Placement::kPrefixAware ? " by prefix" : "");
}

std::string serve_of(const cost::Profile& profile) {
  return profile.serve.empty() ? "paternoster serve MODEL" : profile.serve;
}

std::string command_of(const AdviseOptions& options, const cost::Profile& profile, const Tried& tried) {
  const scheduler::Limits& limits = tried.candidate.config.limits;
  return fmt::format("{} {} --kv-tokens {}{}", serve_of(profile), settings_of(tried),
                     std::int64_t{limits.num_blocks} * limits.block_size, serve_flags(options.scheduler));
}

void print_tried(const char* what, const Tried& tried) {
  fmt::print("{:<12} {:<52} goodput {:.3g} requests/s; at this load {:.1f} % within the SLO, TTFT p95 {}, ITL p95 {}, "
             "E2E mean {}\n",
             what, settings_of(tried) + fleet_of(tried), tried.goodput, 100 * tried.attainment,
             duration_text(tried.ttft_p95_ns), duration_text(tried.itl_p95_ns), duration_text(tried.mean_e2e_ns));
}

// What keeps the second from being the first.
std::string reason(const Tried& best, const Tried& second) {
  if (best.goodput > 1.03 * second.goodput) {
    return fmt::format("the recommended settings meet the SLO up to {:.0f} % more requests a second",
                       second.goodput > 0 ? 100 * (best.goodput / second.goodput - 1) : 100.0);
  }
  if (best.attainment > second.attainment + 0.005) {
    return fmt::format("goodput is the same, but {:.1f} % of requests rather than {:.1f} % are within the SLO at this "
                       "load", 100 * best.attainment, 100 * second.attainment);
  }
  if (second.mean_e2e_ns > 1.03 * best.mean_e2e_ns) {
    return fmt::format("goodput is the same, but answers take {:.0f} % longer",
                       100 * (second.mean_e2e_ns / best.mean_e2e_ns - 1));
  }
  return "nothing to speak of: either will do";
}

void print_frontier(const Advice& advice) {
  fmt::print("\nrequests within the SLO by rate (# recommended, o runner-up)\n");
  constexpr int kWidth = 40;
  for (const simulator::FrontierPoint& point : advice.frontier) {
    std::string bar(kWidth + 1, ' ');
    bar[static_cast<std::size_t>(point.runner_up * kWidth)] = 'o';
    bar[static_cast<std::size_t>(point.best * kWidth)] = '#';
    fmt::print("{:>9.3g}/s |{}| {:>5.1f} % {:>5.1f} %\n", point.rate, bar, 100 * point.best, 100 * point.runner_up);
  }
}

void print_instances(const Advice& advice) {
  const auto list = advice.by_instances();
  if (list.size() < 2) return;
  fmt::print("\nthe recommended settings on so many engines, each a machine like the profile's:\n");
  for (const Tried* one : list) {
    fmt::print("{:>9} goodput {:.3g} requests/s ({:.3g} an engine), at this load {:.1f} % within the SLO\n",
               one->candidate.instances, one->goodput, one->goodput / one->candidate.instances, 100 * one->attainment);
  }
}

void print_advice(const AdviseOptions& options, const Advice& advice, const cost::Profile& profile,
                  const workload::Description& workload) {
  const Tried& best = advice.tried.front();
  fmt::print("{} on {}, {:.3g} requests/s; {} settings tried in {} simulations\n\n", workload_text(workload),
             profile.name, advice.rate, advice.tried.size(), advice.simulations);
  if (best.most_live <= 1) {
    fmt::print("One user never overlaps another: nothing is batched, and the simplest setting is as good as any.\n\n"
               "    {}\n", serve_of(profile));
    print_tried("any", best);
    return;
  }
  if (!best.meets_objectives) {
    fmt::print("No setting that was tried meets the SLO at this load; the nearest:\n\n");
  }
  const std::int32_t instances = best.candidate.instances;
  fmt::print("    {}\n{}\n", command_of(options, profile, best),
             instances == 1 ? "" : fmt::format("    on each of {} machines, requests to {}\n", instances,
                                               best.candidate.placement == fleet::Placement::kPrefixAware
                                                   ? "whoever knows their prefix" : "the least loaded"));
  print_tried("recommended", best);
  if (advice.runner_up > 0) {
    const Tried& second = advice.tried[advice.runner_up];
    print_tried("runner-up", second);
    fmt::print("why: {}\n", reason(best, second));
  }
  print_instances(advice);
  print_frontier(advice);
}

Result<std::vector<simulator::Candidate>> candidates(const AdviseOptions& options, const cost::Profile& profile,
                                                     bool shares_content) {
  std::vector<std::string> presets = options.scheduler.presets;
  if (presets.empty()) {
    for (const scheduler::Preset& preset : scheduler::presets()) presets.emplace_back(preset.name);
    // The usual one first: what is no better than it is not recommended over it.
    std::ranges::stable_partition(presets, [](const std::string& name) { return name == scheduler::kDefaultPreset; });
  }
  if (const auto unread = unread_setting(options.scheduler, presets)) {
    return failure(ErrorCode::kInvalidArgument, *unread);
  }
  std::vector<simulator::Candidate> list;
  std::optional<Error> refused;
  for (const std::string& preset : presets) {
    auto config = configure(options.scheduler, preset, profile);
    if (!config) {
      refused = config.error();
      continue;  // a choice that was given need not go with every preset
    }
    config->limits.prefix_cache &= shares_content;
    list.push_back({preset, *config});
  }
  if (list.empty()) return std::unexpected(*refused);
  return list;
}

Result<simulator::AdviceRequest> prepare(const AdviseOptions& options, const cost::Profile& profile) {
  simulator::AdviceRequest request;
  auto objectives = measure::parse_objectives(options.slo);
  if (!objectives) return std::unexpected(objectives.error());
  request.options.objectives = std::move(*objectives);
  WorkloadOptions described = options.workload;
  if (described.trace.empty() && !described.requests) described.requests = kUsualRequests;
  auto workload = describe_workload(described);
  if (!workload) return std::unexpected(workload.error());
  request.workload = std::move(*workload);
  if (!options.workload.requests) request.workload.count = std::min(request.workload.count, kUsualRequests);
  auto presets = candidates(options, profile, shares_content(request.workload));
  if (!presets) return std::unexpected(presets.error());
  request.presets = std::move(*presets);
  request.options.model = profile.model;
  request.options.allowed_tokens = options.allowed_tokens;
  request.options.guesses = options.workload.guesses;
  request.instances = options.instances;
  if (!options.scheduler.step_tokens) request.step_tokens = doubled(64, 4096);
  if (!options.scheduler.max_seqs) request.seats = doubled(4, 256);
  if (!options.scheduler.slice) request.slice_tokens = doubled(32, 1024);
  return request;
}

int run_advise(const AdviseOptions& options) {
  const auto profile = cost::obtain_profile(options.on);
  if (!profile) return fail("advise", profile.error());
  auto request = prepare(options, *profile);
  if (!request) return fail("advise", request.error());
  ProgressLine progress;
  // How many simulations it takes is not known before; about so many.
  constexpr std::uint64_t kUsual = 250;
  request->on_progress = [&](std::uint64_t done) { progress.show("searching", std::min(done, kUsual - 1), kUsual); };
  const auto advice = simulator::advise(*request);
  progress.clear();
  if (!advice) return fail("advise", advice.error());
  print_advice(options, *advice, *profile, request->workload);
  if (options.html.empty()) return 0;
  std::ofstream out(options.html, std::ios::binary);
  const Tried& best = advice->tried.front();
  const Tried& second = advice->tried[advice->runner_up];
  out << report::to_html(advise_report(
      fmt::format("{} on {}, SLO {}", workload_text(request->workload), profile->name, options.slo), *advice,
      command_of(options, *profile, best) + fleet_of(best), settings_of(best) + fleet_of(best),
      settings_of(second) + fleet_of(second)));
  out.close();
  return out ? 0 : fail("advise", {ErrorCode::kUnavailable, "cannot write " + options.html});
}

}  // namespace

int advise(int argc, char** argv) {
  AdviseOptions options;
  CLI::App app("Searches the settings that meet an SLO up to the highest rate, by simulation.", "paternoster advise");
  app.add_option("--slo", options.slo, "objectives: ttft=1s,itl=80ms@p95 (ttft, tpot, itl, e2e)")->required();
  app.add_option("--on", options.on, "the engine: a calibration file or a published profile")->required();
  app.add_option("--html", options.html, "report with the frontier, into this file");
  app.add_option("--allowed-tokens", options.allowed_tokens,
                 "max_tokens that clients ask for; otherwise just what the answer has")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--instances", options.instances,
                 "numbers of engines to try, ascending: 1,2,4,8; settings are searched on the first")
      ->delimiter(',')
      ->check(CLI::Range(1, 256));
  add_workload_options(app, options.workload);
  add_scheduler_options(app, options.scheduler);
  try {
    app.parse(argc, argv);
    if (std::ranges::adjacent_find(options.instances, std::ranges::greater_equal{}) != options.instances.end()) {
      throw CLI::ValidationError("--instances: numbers must ascend");
    }
  } catch (const CLI::ParseError& error) {
    return fail_call(app, error);
  }
  return run_advise(options);
}

}  // namespace paternoster::cli
