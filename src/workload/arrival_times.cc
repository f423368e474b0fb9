#include "workload/arrival_times.h"

#include <charconv>
#include <cmath>
#include <numbers>
#include <string>

#include "base/duration.h"
#include "workload/random_stream.h"
#include "workload/streams.h"

namespace paternoster::workload {
namespace {

std::unexpected<Error> not_arrivals(std::string_view text) {
  return failure(ErrorCode::kInvalidArgument,
                 "'" + std::string(text) + "' is not an arrival process: write poisson, gamma:0.5, "
                 "constant, burst:16, diurnal:1h:0.8, ramp:1:8:2m, at-once, closed:32 or closed:32:500ms");
}

bool read_between(std::string_view text, double least, double most, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= least && value <= most;
}

// Scaled as vLLM does, so that n requests take n / rate whatever was drawn.
void scale_to(std::vector<double>& times, double last) {
  if (times.empty() || times.back() <= 0) return;
  const double factor = last / times.back();
  for (double& time : times) time *= factor;
}

// Poisson of a rate that changes, by thinning (Lewis and Shedler 1979).
void draw_diurnal(const Arrivals& arrivals, double rate, RandomStream& random,
                  std::vector<double>& times) {
  const double period = static_cast<double>(arrivals.period_ns) / 1e9;
  const double most = rate * (1 + arrivals.depth);
  double now = 0;
  for (double& time : times) {
    while (true) {
      now += random.exponential() / most;
      const double phase = std::cos(2 * std::numbers::pi * now / period);
      if (random.uniform() * most <= rate * (1 - arrivals.depth * phase)) break;
    }
    time = now;
  }
}

// The ramp's rate is its mean times from + 2 (1 - from) x, x = time / period, and 2 - from after it; its integral is
// inverted, so that unit-rate arrivals become these.
void draw_ramp(const Arrivals& arrivals, double rate, RandomStream& random, std::vector<double>& times) {
  const double period = static_cast<double>(arrivals.period_ns) / 1e9;
  const double within = rate * period;  // arrivals while the rate changes
  const double slope = 1 - arrivals.from;
  const double to = 2 - arrivals.from;
  double passed = 0;
  for (double& time : times) {
    passed += random.exponential();
    if (passed >= within && to > 0) {
      time = period + (passed - within) / (rate * to);
      continue;
    }
    // from x + slope x^2 = passed / within, in the form that also holds where the slope is nought.
    const double share = std::min(passed / within, 1.0);
    const double root = std::sqrt(std::max(arrivals.from * arrivals.from + 4 * slope * share, 0.0));
    time = period * (share > 0 ? 2 * share / (arrivals.from + root) : 0);
  }
}

bool parse_ramp(std::string_view from_text, std::string_view rest, Arrivals& arrivals) {
  const std::size_t colon = rest.find(':');
  if (colon == std::string_view::npos) return false;
  double from = 0;
  double to = 0;
  const auto duration = parse_duration(rest.substr(colon + 1));
  if (!duration || *duration <= 0) return false;
  if (!read_between(from_text, 0, 1e6, from) || !read_between(rest.substr(0, colon), 1e-6, 1e6, to)) return false;
  arrivals.kind = Arrivals::Kind::kRamp;
  arrivals.period_ns = *duration;
  arrivals.mean_rate = (from + to) / 2;
  arrivals.from = from / arrivals.mean_rate;
  return true;
}

}  // namespace

Result<Arrivals> parse_arrivals(std::string_view text) {
  Arrivals arrivals;
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  const bool plain = colon == std::string_view::npos;
  double number = 0;
  if (name == "poisson" && plain) return arrivals;
  if (name == "constant" && plain) {
    arrivals.kind = Arrivals::Kind::kConstant;
    return arrivals;
  }
  if (name == "at-once" && plain) {
    arrivals.kind = Arrivals::Kind::kAtOnce;
    return arrivals;
  }
  if (name == "gamma" && read_between(rest, 0.01, 1000, arrivals.shape)) {
    arrivals.kind = Arrivals::Kind::kGamma;
    return arrivals;
  }
  if (name == "burst" && read_between(rest, 1, 1e6, number)) {
    arrivals.kind = Arrivals::Kind::kBurst;
    arrivals.burst = static_cast<std::int32_t>(number);
    return arrivals;
  }
  const std::size_t second = rest.find(':');
  const std::string_view tail = second == std::string_view::npos ? std::string_view() : rest.substr(second + 1);
  rest = rest.substr(0, second);
  if (name == "ramp" && parse_ramp(rest, tail, arrivals)) return arrivals;
  if (name == "diurnal") {
    const auto period = parse_duration(rest);
    if (!period || *period <= 0 || !read_between(tail, 0, 1, arrivals.depth)) return not_arrivals(text);
    arrivals.kind = Arrivals::Kind::kDiurnal;
    arrivals.period_ns = *period;
    return arrivals;
  }
  if (name == "closed" && read_between(rest, 1, 1e6, number)) {
    arrivals.kind = Arrivals::Kind::kClosed;
    arrivals.streams = static_cast<std::int32_t>(number);
    if (second == std::string_view::npos) return arrivals;
    const auto think = parse_duration(tail);
    if (!think) return not_arrivals(text);
    arrivals.think_ns = *think;
    return arrivals;
  }
  return not_arrivals(text);
}

bool has_rate(const Arrivals& arrivals) {
  return arrivals.kind != Arrivals::Kind::kAtOnce && arrivals.kind != Arrivals::Kind::kClosed;
}

double expected_count(const Arrivals& arrivals, double rate, std::int64_t duration_ns) {
  const double seconds = static_cast<double>(duration_ns) / 1e9;
  if (arrivals.kind != Arrivals::Kind::kRamp) return rate * seconds;
  const double period = static_cast<double>(arrivals.period_ns) / 1e9;
  const double x = std::min(seconds / period, 1.0);
  const double during = arrivals.from * x + (1 - arrivals.from) * x * x;
  return rate * (during * period + (2 - arrivals.from) * std::max(seconds - period, 0.0));
}

std::vector<std::int64_t> arrival_times(const Arrivals& arrivals, double rate, std::size_t count,
                                        std::uint64_t seed) {
  std::vector<double> times(count, 0.0);
  RandomStream random(seed, streams::kArrivals);
  const double last = static_cast<double>(count) / rate;
  double now = 0;
  switch (arrivals.kind) {
    case Arrivals::Kind::kAtOnce:
    case Arrivals::Kind::kClosed: break;
    case Arrivals::Kind::kPoisson:
    case Arrivals::Kind::kGamma:
      for (double& time : times) time = now += random.gamma(arrivals.shape);
      scale_to(times, last);
      break;
    case Arrivals::Kind::kConstant:
      for (double& time : times) {
        time = now;
        now += 1 / rate;
      }
      break;
    case Arrivals::Kind::kBurst:
      for (std::size_t at = 0; at < count; ++at) {
        const auto burst = static_cast<std::size_t>(arrivals.burst);
        times[at] = static_cast<double>(at / burst * burst) / rate;
      }
      break;
    case Arrivals::Kind::kDiurnal: draw_diurnal(arrivals, rate, random, times); break;
    case Arrivals::Kind::kRamp: draw_ramp(arrivals, rate, random, times); break;
  }
  std::vector<std::int64_t> result(count);
  for (std::size_t at = 0; at < count; ++at) result[at] = std::llround(times[at] * 1e9);
  return result;
}

}  // namespace paternoster::workload
