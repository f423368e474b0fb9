// `paternoster bench`: a workload played to a server, and what came of it.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <ctime>

#include "base/duration.h"
#include "bench/run_json.h"
#include "bench/session.h"
#include "bench/sweep.h"
#include "cli/bench_compare.h"
#include "cli/bench_options.h"
#include "cli/bench_report.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/progress_line.h"

namespace paternoster::cli {
namespace {

using bench::BenchRun;
using bench::SweepPoint;
using workload::Arrivals;

constexpr double kUsualPrecision = 0.05;  // of --find-limit

bool is_closed(const workload::Description& work) {
  return work.arrivals && work.arrivals->kind == Arrivals::Kind::kClosed;
}

// Enough requests for the duration: as many as come in it, or no end of them.
void fill_duration(workload::Description& work, std::int64_t duration_ns, bool counted) {
  if (duration_ns == 0 || counted || !work.arrivals) return;
  const double come = std::ceil(workload::expected_count(*work.arrivals, work.rate, duration_ns));
  work.count = is_closed(work) ? std::size_t{1} << 40 : static_cast<std::size_t>(std::max(come, 1.0));
}

class Bench {
 public:
  Bench(const BenchOptions& options, bench::Session& session, workload::Description work)
      : options_(options), session_(session), work_(std::move(work)), date_(std::time(nullptr)) {}

  Result<int> run_once();
  Result<int> run_sweep();
  Result<int> find_limit();

 private:
  Result<BenchRun> run_at(const workload::Description& work, const std::string& label);
  workload::Description at_load(double load) const;
  Result<void> write_run(const BenchRun& run, const workload::Description& work);
  Result<void> write_sweep(std::span<const SweepPoint> points);
  Settings settings(const workload::Description& work) const;
  std::string identity_json(const BenchRun& run, const workload::Description& work) const;
  std::string subtitle() const;

  const BenchOptions& options_;
  bench::Session& session_;
  workload::Description work_;
  std::time_t date_;
  ProgressLine progress_;
};

Result<BenchRun> Bench::run_at(const workload::Description& work, const std::string& label) {
  const double planned_s = static_cast<double>(session_.options().load.stop_sending_ns) / 1e9;
  const auto report = [&](const bench::Progress& at) {
    const std::string what = fmt::format("{}{:.0f} s, {} done, {} failed, {} under way, {:.0f} tok/s",
                                         label.empty() ? "" : label + ": ", at.elapsed_s, at.completed, at.failed,
                                         at.in_flight, at.tokens_per_second);
    const std::uint64_t done = at.completed + at.failed;
    if (at.planned > 0) {
      progress_.show(what, done, at.planned);
    } else {
      progress_.show(what, static_cast<std::uint64_t>(at.elapsed_s * 1000),
                     static_cast<std::uint64_t>(planned_s * 1000));
    }
  };
  auto run = session_.run(work, label, report);
  progress_.clear();
  return run;
}

Settings Bench::settings(const workload::Description& work) const {
  const WorkloadOptions& flags = options_.workload;
  const auto lengths_text = [&](const std::optional<std::string>& given, const std::string& usual) {
    return flags.trace.empty() ? given.value_or(usual) : "of the trace";
  };
  Settings all{{"server", to_string(session_.options().server.url)},
               {"model", session_.model()},
               {"route", options_.route},
               {"workload", workload_text(work)},
               {"prompt lengths", options_.prompts.empty() ? lengths_text(flags.input, flags.usual_input)
                                                           : "of " + options_.prompts},
               {"answer lengths", lengths_text(flags.output, flags.usual_output)},
               {"prompt tokens known from", session_.prompt_source()},
               {"warm-up", fmt::format("{} requests", options_.warm_up)},
               {"seed", std::to_string(flags.seed)}};
  if (!flags.trace.empty()) all.emplace_back("trace", flags.trace);
  if (options_.max_in_flight > 0) all.emplace_back("most in flight", std::to_string(options_.max_in_flight));
  if (!options_.slo.empty()) all.emplace_back("SLO", options_.slo);
  return all;
}

std::string Bench::subtitle() const {
  return fmt::format("paternoster bench {}, {:%Y-%m-%d %H:%M} UTC, {} at {}", version(), fmt::gmtime(date_),
                     session_.model(), to_string(session_.options().server.url));
}

std::string Bench::identity_json(const BenchRun& run, const workload::Description& work) const {
  bench::RunIdentity identity;
  identity.version = version();
  identity.backend = options_.route == "chat" ? "openai-chat" : "openai";
  identity.endpoint = to_string(session_.options().server.url);
  identity.model = session_.model();
  identity.date = fmt::format("{:%Y%m%d-%H%M%S}", fmt::gmtime(date_));
  const std::string& arrivals = options_.workload.arrivals;
  identity.arrivals = !arrivals.empty() ? arrivals : work.trace ? "trace" : "poisson";
  identity.burstiness = work.arrivals && work.arrivals->kind == Arrivals::Kind::kGamma ? work.arrivals->shape : 1;
  identity.max_concurrency = is_closed(work) ? work.arrivals->streams : options_.max_in_flight;
  identity.planned = std::min(work.count, run.load.sightings.size());
  identity.seed = work.seed;
  return bench::run_json(run, identity);
}

Result<void> Bench::write_run(const BenchRun& run, const workload::Description& work) {
  if (!options_.json.empty()) {
    if (auto done = bench::write_file(options_.json, identity_json(run, work)); !done) return done;
  }
  if (!options_.records.empty()) {
    if (auto done = bench::write_file(options_.records, bench::records_jsonl(run)); !done) return done;
  }
  if (options_.html.empty()) return {};
  std::vector<Overlay> overlays;
  for (const std::string& path : options_.overlays) {
    auto overlay = read_overlay(path, session_.options().objectives);
    if (!overlay) return std::unexpected(overlay.error());
    overlays.push_back(std::move(*overlay));
  }
  report::Document document = run_document(run, settings(work), overlays);
  document.subtitle = subtitle();
  return bench::write_file(options_.html, report::to_html(document));
}

Result<int> Bench::run_once() {
  fmt::print("{} at {}: {}\n", session_.model(), to_string(session_.options().server.url), workload_text(work_));
  const auto run = run_at(work_, options_.label);
  if (!run) return std::unexpected(run.error());
  fmt::print("{}", run_text(*run));
  if (auto written = write_run(*run, work_); !written) return std::unexpected(written.error());
  return run->summary.all.completed > 0 ? 0 : 1;
}

workload::Description Bench::at_load(double load) const {
  workload::Description work = work_;
  if (is_closed(work)) {
    work.arrivals->streams = std::max(static_cast<std::int32_t>(load), 1);
  } else if (work.arrivals) {
    work.rate = load;
  } else {
    work.speed = load / work.trace->rate();
  }
  fill_duration(work, session_.options().load.stop_sending_ns, false);
  return work;
}

Result<void> Bench::write_sweep(std::span<const SweepPoint> points) {
  if (!options_.json.empty()) {
    std::string lines;
    for (const SweepPoint& point : points) lines += identity_json(point.run, at_load(point.load));
    if (auto done = bench::write_file(options_.json, lines); !done) return done;
  }
  if (!options_.records.empty()) {
    std::string lines;
    for (const SweepPoint& point : points) lines += bench::records_jsonl(point.run);
    if (auto done = bench::write_file(options_.records, lines); !done) return done;
  }
  if (options_.html.empty()) return {};
  report::Document document = sweep_document(points, is_closed(work_), settings(work_));
  document.subtitle = subtitle();
  return bench::write_file(options_.html, report::to_html(document));
}

Result<int> Bench::run_sweep() {
  std::vector<SweepPoint> points;
  for (const double load : options_.sweep) {
    if (session_.interrupted()) break;
    auto run = run_at(at_load(load), fmt::format("{:.3g}{}", load, is_closed(work_) ? " streams" : "/s"));
    if (!run) return std::unexpected(run.error());
    points.push_back({load, std::move(*run)});
  }
  fmt::print("{}", sweep_text(points, is_closed(work_)));
  if (auto written = write_sweep(points); !written) return std::unexpected(written.error());
  return 0;
}

Result<int> Bench::find_limit() {
  std::vector<SweepPoint> points;
  std::optional<Error> broken;
  const double first = work_.arrivals ? work_.rate : work_.trace->rate() * work_.speed;
  const double precision = options_.precision.value_or(kUsualPrecision);
  const auto limit = bench::find_limit(first, precision, [&](double rate) {
    if (broken || session_.interrupted()) return false;
    auto run = run_at(at_load(rate), fmt::format("{:.3g}/s", rate));
    if (!run) {
      broken = run.error();
      return false;
    }
    const bool met = run->summary.meets_objectives() && run->keeps_up();
    fmt::print("{:.4g} requests/s: {}\n", rate, met ? "met" : run->keeps_up() ? "missed" : "overloaded");
    std::fflush(stdout);
    points.push_back({rate, std::move(*run)});
    return met;
  });
  if (broken) return std::unexpected(*broken);
  std::ranges::sort(points, {}, &SweepPoint::load);
  fmt::print("{}", sweep_text(points, false));
  if (limit) {
    fmt::print("The highest rate that meets {} is {:.3g} requests/s (to within {:.1f} %).\n", options_.slo, *limit,
               100 * precision);
  } else {
    fmt::print("No rate down to {:.3g} requests/s meets {}.\n", first / 64, options_.slo);
  }
  if (auto written = write_sweep(points); !written) return std::unexpected(written.error());
  return limit ? 0 : 1;
}

// Priorities and deadlines of classes are sent in fields that OpenAI's API has not.
Result<void> check_plain(const BenchOptions& options, const workload::Description& work) {
  for (const workload::ClassOfWork& one : work.classes) {
    if (options.plain && (one.priority != 0 || one.deadline_ns > 0)) {
      return failure(ErrorCode::kInvalidArgument,
                     "--plain leaves out the fields that the priority and deadline of class '" + one.name + "' need");
    }
    if (one.deadline_ns > 0 && one.deadline_ns < 1'000'000) {
      return failure(ErrorCode::kInvalidArgument, "the deadline of class '" + one.name + "' is below a millisecond");
    }
  }
  return {};
}

Result<int> measure_server(const BenchOptions& options) {
  auto wanted = session_options(options);
  if (!wanted) return std::unexpected(wanted.error());
  auto work = describe_workload(options.workload);
  if (!work) return std::unexpected(work.error());
  if (options.find_limit && is_closed(*work)) {
    return failure(ErrorCode::kInvalidArgument, "--find-limit searches a rate: closed arrivals have none");
  }
  if (auto plain = check_plain(options, *work); !plain) return std::unexpected(plain.error());
  const bool counted = options.duration.empty();
  fill_duration(*work, wanted->load.stop_sending_ns, counted);
  if (auto source = workload::Source::create(*work); !source) return std::unexpected(source.error());
  auto session = bench::Session::open(std::move(*wanted));
  if (!session) return std::unexpected(session.error());
  if (auto warm = (*session)->warm_up(*work); !warm) return std::unexpected(warm.error());
  Bench bench(options, **session, std::move(*work));
  if (!options.sweep.empty()) return bench.run_sweep();
  if (options.find_limit) return bench.find_limit();
  return bench.run_once();
}

}  // namespace

int bench(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "compare") return bench_compare(argc - 1, argv + 1);
  const ParsedBench parsed = parse_bench(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  const auto code = measure_server(parsed.options);
  return code ? *code : fail("bench", code.error());
}

}  // namespace paternoster::cli
