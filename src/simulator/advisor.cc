#include "simulator/advisor.h"

#include <algorithm>
#include <cmath>

#include "scheduler/presets.h"

namespace paternoster::simulator {
namespace {

constexpr double kHighestSpeed = 64;
constexpr double kLowestSpeed = 1.0 / 64;
constexpr int kHalvings = 4;  // of the factor between a rate that is met and one that is missed

class Search {
 public:
  explicit Search(const AdviceRequest& request) : request_(request) {}

  Result<Advice> run() {
    for (const std::string& preset : request_.presets) {
      auto choices = scheduler::choices_of(preset);
      if (!choices) return std::unexpected(choices.error());
      Candidate candidate{preset, request_.options.config};
      candidate.config.choices = *choices;
      if (auto done = consider(candidate); !done) return std::unexpected(done.error());
    }
    if (advice_.tried.empty()) return failure(ErrorCode::kInvalidArgument, "there is no preset to try");
    // Twice around: more seats may make another budget better.
    for (int round = 0; round < 2; ++round) {
      const Candidate before = best().candidate;
      for (const std::int32_t tokens : request_.step_tokens) {
        Candidate candidate = before;
        candidate.config.limits.step_tokens = std::max(tokens, candidate.config.limits.max_seqs);
        if (auto done = consider(candidate); !done) return std::unexpected(done.error());
      }
      const Candidate between = best().candidate;
      for (const std::int32_t seats : request_.seats) {
        Candidate candidate = between;
        candidate.config.limits.max_seqs = seats;
        candidate.config.limits.step_tokens = std::max(candidate.config.limits.step_tokens, seats);
        if (auto done = consider(candidate); !done) return std::unexpected(done.error());
      }
      if (best().candidate.config == before.config) break;
    }
    return finish();
  }

 private:
  const Tried& best() const { return advice_.tried.front(); }

  // Nothing: the limits do not hold together, or a request cannot be served at all.
  Result<Outcome> simulate(const Candidate& candidate, double speed) {
    Options options = request_.options;
    options.config = candidate.config;
    workload::Description workload = request_.workload;
    if (workload.arrivals) {
      workload.rate *= speed;
    } else {
      workload.speed *= speed;
    }
    auto source = workload::Source::create(std::move(workload));
    if (!source) return std::unexpected(source.error());
    auto simulation = Simulation::create(std::move(options), std::move(*source));
    if (!simulation) return std::unexpected(simulation.error());
    ++advice_.simulations;
    if (request_.on_progress) request_.on_progress(advice_.simulations);
    return simulation->run();
  }

  static bool passes(const Outcome& outcome) {
    return outcome.summary.meets_objectives() && !outcome.overloaded();
  }

  Result<void> consider(const Candidate& candidate) {
    const bool known = std::ranges::any_of(
        advice_.tried, [&](const Tried& one) { return one.candidate.config == candidate.config; });
    if (known || !scheduler::validate(candidate.config)) return {};
    const auto at_own = simulate(candidate, 1);
    if (!at_own) return std::unexpected(at_own.error());
    Tried tried;
    tried.candidate = candidate;
    tried.meets_objectives = passes(*at_own);
    const measure::Figures& all = at_own->summary.all;
    tried.attainment = all.attainment();
    tried.ttft_p95_ns = all.ttft.percentile(95);
    tried.itl_p95_ns = all.itl.percentile(95);
    tried.mean_e2e_ns = all.e2e.mean();
    if (auto found = find_goodput(tried); !found) return std::unexpected(found.error());
    advice_.rate = rate_of(*at_own);
    tried.goodput = tried.speed * advice_.rate;
    if (advice_.tried.empty() || is_better(tried, best())) advice_.most_live = at_own->most_live;
    advice_.tried.push_back(std::move(tried));
    std::ranges::stable_sort(advice_.tried, is_better);
    return {};
  }

  static double rate_of(const Outcome& outcome) {
    const double seconds = static_cast<double>(outcome.last_arrival_ns) / 1e9;
    return seconds > 0 ? static_cast<double>(outcome.summary.all.total()) / seconds : 0;
  }

  // Doubles or halves the speed until the verdict changes, then narrows the factor between.
  Result<void> find_goodput(Tried& tried) {
    double good = tried.meets_objectives ? 1 : 0;
    double bad = tried.meets_objectives ? 0 : 1;
    while (good == 0 || bad == 0) {
      const double speed = good == 0 ? bad / 2 : good * 2;
      if (speed > kHighestSpeed || speed < kLowestSpeed) break;
      const auto outcome = simulate(tried.candidate, speed);
      if (!outcome) return std::unexpected(outcome.error());
      (passes(*outcome) ? good : bad) = speed;
    }
    for (int halving = 0; halving < kHalvings && good > 0 && bad > 0; ++halving) {
      const double speed = std::sqrt(good * bad);
      const auto outcome = simulate(tried.candidate, speed);
      if (!outcome) return std::unexpected(outcome.error());
      (passes(*outcome) ? good : bad) = speed;
    }
    tried.speed = good;
    return {};
  }

  // More goodput by more than the search can resolve; else more attainment, less time, fewer seats.
  static bool is_better(const Tried& a, const Tried& b) {
    constexpr double kSame = 1.03;
    if (a.goodput > b.goodput * kSame || b.goodput > a.goodput * kSame) return a.goodput > b.goodput;
    if (std::abs(a.attainment - b.attainment) > 0.005) return a.attainment > b.attainment;
    if (a.mean_e2e_ns > b.mean_e2e_ns * kSame || b.mean_e2e_ns > a.mean_e2e_ns * kSame) {
      return a.mean_e2e_ns < b.mean_e2e_ns;
    }
    return false;  // the earlier one: presets are tried in the order given
  }

  Result<Advice> finish() {
    const std::size_t second = advice_.tried.size() > 1 ? 1 : 0;
    const auto other = std::ranges::find_if(advice_.tried, [&](const Tried& one) {
      return one.candidate.preset != best().candidate.preset;
    });
    advice_.runner_up =
        other == advice_.tried.end() ? second : static_cast<std::size_t>(other - advice_.tried.begin());
    const double top = std::max(best().speed, 1.0);
    for (const double share : {0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0}) {
      FrontierPoint point;
      point.speed = top * share;
      point.rate = point.speed * advice_.rate;
      const auto of_best = simulate(best().candidate, point.speed);
      if (!of_best) return std::unexpected(of_best.error());
      const auto of_second = simulate(advice_.tried[advice_.runner_up].candidate, point.speed);
      if (!of_second) return std::unexpected(of_second.error());
      point.best = of_best->summary.all.attainment();
      point.runner_up = of_second->summary.all.attainment();
      advice_.frontier.push_back(point);
    }
    return std::move(advice_);
  }

  const AdviceRequest& request_;
  Advice advice_;
};

}  // namespace

Result<Advice> advise(const AdviceRequest& request) { return Search(request).run(); }

}  // namespace paternoster::simulator
