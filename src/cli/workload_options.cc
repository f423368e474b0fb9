#include "cli/workload_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>

#include "base/duration.h"

namespace paternoster::cli {
namespace {

std::unexpected<Error> malformed(const std::string& text, std::string_view why) {
  return failure(ErrorCode::kInvalidArgument, fmt::format("'{}': {}", text, why));
}

bool read_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<std::string> split(const std::string& text, char mark) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (true) {
    const std::size_t at = text.find(mark, from);
    parts.push_back(text.substr(from, at - from));
    if (at == std::string::npos) return parts;
    from = at + 1;
  }
}

// "chat,share=3,priority=0,input=fixed:200,output=exponential:100,deadline=30s"
Result<workload::ClassOfWork> parse_class(const std::string& text, const workload::ClassOfWork& usual) {
  workload::ClassOfWork of = usual;
  const auto parts = split(text, ',');
  of.name = parts[0];
  if (of.name.empty()) return malformed(text, "a class begins with its name: chat,share=3,priority=0");
  for (std::size_t at = 1; at < parts.size(); ++at) {
    const std::size_t equals = parts[at].find('=');
    const std::string key = parts[at].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : parts[at].substr(equals + 1);
    double number = 0;
    if (key == "input" || key == "output") {
      auto lengths = workload::parse_lengths(value);
      if (!lengths) return std::unexpected(lengths.error());
      (key == "input" ? of.input : of.output) = std::move(*lengths);
    } else if (key == "share" && read_number(value, number) && number > 0) {
      of.share = number;
    } else if (key == "priority" && read_number(value, number) && number >= -1e6 && number <= 1e6) {
      of.priority = static_cast<std::int32_t>(number);
    } else if (key == "deadline") {
      const auto deadline = parse_duration(value);
      if (!deadline) return std::unexpected(deadline.error());
      of.deadline_ns = *deadline;
    } else {
      return malformed(text, fmt::format("'{}' is none of share=, priority=, deadline=, input=, output=", parts[at]));
    }
  }
  return of;
}

// "alice" or "alice:3"
Result<workload::Tenant> parse_tenant(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  workload::Tenant tenant{text.substr(0, colon), 1};
  if (colon != std::string::npos && (!read_number(text.substr(colon + 1), tenant.share) || tenant.share <= 0)) {
    return malformed(text, "a tenant is NAME or NAME:SHARE");
  }
  if (tenant.name.empty()) return malformed(text, "a tenant needs a name");
  return tenant;
}

// A flag that nothing reads would be believed to do something.
Result<void> refuse_unread(const WorkloadOptions& options, const workload::Description& description) {
  const bool traced = description.trace != nullptr;
  const bool own_times = traced && !description.arrivals;
  const bool rated = description.arrivals && has_rate(*description.arrivals) && description.arrivals->mean_rate == 0;
  const struct {
    bool unread;
    const char* what;
  } rules[] = {
      {!options.trace_format.empty() && !traced, "--trace-format says nothing without --trace"},
      {options.speed && !own_times, "--speed scales the times of a trace: elsewhere say --rate"},
      {options.rate && own_times, "--rate says nothing about a trace's own times: scale them with --speed, or give "
                                  "--arrivals"},
      {options.rate && !own_times && !rated, "--rate says nothing about arrivals at-once, closed and ramp"},
      {traced && (options.input || options.output),
       "--input and --output say nothing about a trace, which has lengths"},
      {options.prefix_count && options.prefix_tokens == 0, "--prefix-count says nothing without --prefix-tokens"},
      {options.guess_sigma && !options.guesses, "--guess-sigma says nothing without --guesses"},
  };
  for (const auto& rule : rules) {
    if (rule.unread) return failure(ErrorCode::kInvalidArgument, rule.what);
  }
  for (const std::string& text : options.classes) {
    if (traced && (text.find(",input=") != std::string::npos || text.find(",output=") != std::string::npos)) {
      return malformed(text, "a trace has lengths of its own: a class has no input= and output= then");
    }
  }
  return {};
}

Result<void> describe_classes(const WorkloadOptions& options, workload::Description& description) {
  workload::ClassOfWork usual;
  auto input = workload::parse_lengths(options.input.value_or(options.usual_input));
  if (!input) return std::unexpected(input.error());
  auto output = workload::parse_lengths(options.output.value_or(options.usual_output));
  if (!output) return std::unexpected(output.error());
  usual.input = std::move(*input);
  usual.output = std::move(*output);
  for (const std::string& text : options.classes) {
    auto of = parse_class(text, usual);
    if (!of) return std::unexpected(of.error());
    description.classes.push_back(std::move(*of));
  }
  if (description.classes.empty() && !description.trace) description.classes.push_back(usual);
  for (const std::string& text : options.tenants) {
    auto tenant = parse_tenant(text);
    if (!tenant) return std::unexpected(tenant.error());
    description.tenants.push_back(std::move(*tenant));
  }
  return {};
}

}  // namespace

void add_workload_options(CLI::App& app, WorkloadOptions& options) {
  const std::string group = "Workload";
  app.add_option("--trace", options.trace, "requests from this file")->group(group);
  app.add_option("--trace-format", options.trace_format,
                 "azure, burstgpt, vidur, mooncake, timed-trace or records; otherwise found out")
      ->group(group);
  app.add_option("--speed", options.speed, "play the trace so many times as fast")->group(group);
  app.add_option("--requests", options.requests, "how many; a trace that is shorter begins anew")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 40))
      ->group(group);
  app.add_option("--arrivals", options.arrivals,
                 "poisson, gamma:BURSTINESS, constant, burst:SIZE, diurnal:PERIOD:DEPTH, ramp:FROM:TO:DURATION, "
                 "at-once, closed:STREAMS[:THINK]; with a trace: instead of its times")
      ->group(group);
  app.add_option("--rate", options.rate, "requests a second, of arrivals that have one")->group(group);
  app.add_option("--input", options.input,
                 "prompt lengths: fixed:N, uniform:A-B, exponential:MEAN[:CAP], lognormal:MEDIAN:SIGMA[:CAP], "
                 "empirical:FILE")
      ->group(group);
  app.add_option("--output", options.output, "answer lengths, as --input")->group(group);
  app.add_option("--class", options.classes,
                 "NAME[,share=3][,priority=0][,deadline=30s][,input=...][,output=...]; may be given again; with a "
                 "trace: what the rows of this class have")
      ->group(group);
  app.add_option("--tenant", options.tenants, "NAME[:SHARE]; may be given again")->group(group);
  app.add_option("--prefix-tokens", options.prefix_tokens, "prompts begin with so many shared tokens")
      ->check(CLI::Range(0, 1 << 20))
      ->group(group);
  app.add_option("--prefix-count", options.prefix_count, "of so many different texts")
      ->check(CLI::Range(1, 1 << 20))
      ->group(group);
  app.add_option("--seed", options.seed, "of everything that is drawn")->group(group);
  app.add_flag("--guesses", options.guesses, "tell the scheduler a guess of each answer's length")->group(group);
  app.add_option("--guess-sigma", options.guess_sigma,
                 "how far these guesses are off: sigma of a log-normal factor")
      ->check(CLI::Range(0.0, 10.0))
      ->group(group);
}

Result<workload::Description> describe_workload(const WorkloadOptions& options) {
  workload::Description description;
  description.seed = options.seed;
  description.rate = options.rate.value_or(1);
  description.speed = options.speed.value_or(1);
  description.prefix_tokens = options.prefix_tokens;
  description.prefix_count = options.prefix_count.value_or(1);
  description.guess_sigma = options.guess_sigma.value_or(0);
  if (!options.trace.empty()) {
    workload::TraceOptions how;
    if (!options.trace_format.empty()) {
      const auto format = workload::parse_trace_format(options.trace_format);
      if (!format) return std::unexpected(format.error());
      how.format = *format;
    }
    auto trace = workload::read_trace(options.trace, how);
    if (!trace) return std::unexpected(trace.error());
    description.count = trace->rows.size();
    description.trace = std::make_shared<const workload::Trace>(std::move(*trace));
  }
  if (!options.arrivals.empty() || !description.trace) {
    const auto arrivals = workload::parse_arrivals(options.arrivals.empty() ? "poisson" : options.arrivals);
    if (!arrivals) return std::unexpected(arrivals.error());
    description.arrivals = *arrivals;
    if (arrivals->mean_rate > 0) {  // a ramp: as many as come in it
      description.rate = arrivals->mean_rate;
      description.count = static_cast<std::size_t>(
          std::max(std::round(expected_count(*arrivals, description.rate, arrivals->period_ns)), 1.0));
    }
  }
  if (options.requests) description.count = *options.requests;
  if (auto read = refuse_unread(options, description); !read) return std::unexpected(read.error());
  if (auto described = describe_classes(options, description); !described) {
    return std::unexpected(described.error());
  }
  return description;
}

std::string workload_text(const workload::Description& description) {
  std::string text = fmt::format("{} requests", description.count);
  if (description.trace) {
    text += fmt::format(" of the {} trace", to_string(description.trace->format));
    if (!description.arrivals && description.speed != 1) text += fmt::format(" x {:.4g} speed", description.speed);
    if (description.trace->left_out > 0) {
      text += fmt::format(" ({} rows without an answer left out)", description.trace->left_out);
    }
  }
  if (!description.arrivals) return text;
  const workload::Arrivals& arrivals = *description.arrivals;
  switch (arrivals.kind) {
    case workload::Arrivals::Kind::kAtOnce: return text + ", all at once";
    case workload::Arrivals::Kind::kClosed: return text + fmt::format(", {} streams", arrivals.streams);
    case workload::Arrivals::Kind::kRamp:
      return text + fmt::format(", arrivals from {:.4g}/s to {:.4g}/s in {}", arrivals.from * description.rate,
                                (2 - arrivals.from) * description.rate,
                                duration_text(static_cast<double>(arrivals.period_ns)));
    default: return text + fmt::format(", arrivals at {:.4g}/s", description.rate);
  }
}

}  // namespace paternoster::cli
