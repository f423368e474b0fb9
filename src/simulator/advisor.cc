#include "simulator/advisor.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace paternoster::simulator {
namespace {

constexpr double kHighestSpeed = 64;
constexpr double kLowestSpeed = 1.0 / 64;
constexpr int kHalvings = 4;  // of the factor between a rate that is met and one that is missed

bool boards_slices(const Candidate& candidate) {
  const scheduler::Boarding boarding = candidate.config.choices.boarding;
  return boarding == scheduler::Boarding::kSliced || boarding == scheduler::Boarding::kSlicedKeep;
}

// Whoever meets the objectives, with fewer engines; then more goodput by more than the search can resolve;
// then more attainment, less time.
bool is_better(const Tried& a, const Tried& b) {
  constexpr double kSame = 1.03;
  if (a.meets_objectives != b.meets_objectives) return a.meets_objectives;
  if (a.meets_objectives && a.candidate.instances != b.candidate.instances) {
    return a.candidate.instances < b.candidate.instances;
  }
  if (a.goodput > b.goodput * kSame || b.goodput > a.goodput * kSame) return a.goodput > b.goodput;
  if (std::abs(a.attainment - b.attainment) > 0.005) return a.attainment > b.attainment;
  if (a.mean_e2e_ns > b.mean_e2e_ns * kSame || b.mean_e2e_ns > a.mean_e2e_ns * kSame) {
    return a.mean_e2e_ns < b.mean_e2e_ns;
  }
  return false;  // the earlier one: presets are tried in the order given
}

class Search {
 public:
  explicit Search(const AdviceRequest& request) : request_(request) {}

  Result<Advice> run() {
    try_presets();
    // Twice around: more seats may make another budget better.
    for (int round = 0; round < 2 && !broken_ && !advice_.tried.empty(); ++round) {
      const Candidate before = best().candidate;
      try_limits();
      try_slices();
      if (best().candidate == before) break;
    }
    if (!advice_.tried.empty()) try_instances();
    if (!broken_ && advice_.tried.empty()) {
      return failure(ErrorCode::kInvalidArgument, "there is no preset to try whose limits hold together");
    }
    if (!broken_) draw_frontier();
    if (broken_) return std::unexpected(*broken_);
    return std::move(advice_);
  }

 private:
  const Tried& best() const { return advice_.tried.front(); }

  void try_presets() {
    for (Candidate candidate : request_.presets) {
      candidate.instances = request_.instances.front();
      consider(candidate);
    }
  }

  void try_limits() {
    const Candidate before = best().candidate;
    for (const std::int32_t tokens : request_.step_tokens) {
      Candidate candidate = before;
      candidate.config.limits.step_tokens = std::max(tokens, candidate.config.limits.max_seqs);
      consider(candidate);
    }
    const Candidate between = best().candidate;
    for (const std::int32_t seats : request_.seats) {
      Candidate candidate = between;
      candidate.config.limits.max_seqs = seats;
      candidate.config.limits.step_tokens = std::max(candidate.config.limits.step_tokens, seats);
      consider(candidate);
    }
  }

  // Of the best that boards slices, though another may be ahead: the length may be what it lacks. It is tried with
  // the limits that the best has come to.
  void try_slices() {
    const auto sliced = std::ranges::find_if(advice_.tried, boards_slices, &Tried::candidate);
    if (sliced == advice_.tried.end()) return;
    Candidate candidate = sliced->candidate;
    candidate.config.limits = best().candidate.config.limits;
    for (const std::int32_t tokens : request_.slice_tokens) {
      candidate.config.tuning.slice_tokens = tokens;
      consider(candidate);
    }
  }

  // The best settings, and the best of another preset, on more engines.
  void try_instances() {
    if (request_.instances.size() < 2) return;
    const Candidate before = best().candidate;
    std::int32_t missed = 0;
    std::int32_t met = 0;
    for (const std::int32_t instances : request_.instances) {
      if (consider_on(before, instances)) {
        met = instances;
        break;
      }
      missed = instances;
    }
    while (met > 0 && met - missed > 1 && missed > 0 && !broken_) {
      const std::int32_t between = missed + (met - missed) / 2;
      (consider_on(before, between) ? met : missed) = between;
    }
    // What twice as many would do, for comparison.
    if (met > 0 && 2 * met <= request_.instances.back()) consider_on(before, 2 * met);
    const std::int32_t settled = met > 0 ? met : request_.instances.back();
    const auto rival = std::ranges::find_if(
        advice_.tried, [&](const Tried& one) { return one.candidate.preset != before.preset; });
    if (rival != advice_.tried.end()) consider_on(Candidate(rival->candidate), settled);
  }

  // Whether the objectives are met then. Engines that know prefixes are also tried with requests placed by them.
  bool consider_on(Candidate candidate, std::int32_t instances) {
    candidate.instances = instances;
    consider(candidate);
    bool met = meets(candidate);
    if (instances > 1 && candidate.config.limits.prefix_cache) {
      candidate.placement = fleet::Placement::kPrefixAware;
      consider(candidate);
      met = met || meets(candidate);
    }
    return met;
  }

  bool meets(const Candidate& candidate) const {
    const auto found = std::ranges::find(advice_.tried, candidate, &Tried::candidate);
    return found != advice_.tried.end() && found->meets_objectives;
  }

  std::optional<Trial> simulate(const Candidate& candidate, double speed) {
    if (broken_) return std::nullopt;
    auto trial = run_trial(request_.options, request_.workload, candidate, speed);
    if (!trial) {
      broken_ = trial.error();
      return std::nullopt;
    }
    ++advice_.simulations;
    if (request_.on_progress) request_.on_progress(advice_.simulations);
    return std::move(*trial);
  }

  void consider(const Candidate& candidate) {
    const bool known = std::ranges::find(advice_.tried, candidate, &Tried::candidate) != advice_.tried.end();
    if (known || !scheduler::validate(candidate.config)) return;
    const auto at_own = simulate(candidate, 1);
    if (!at_own) return;
    Tried tried;
    tried.candidate = candidate;
    tried.meets_objectives = at_own->passes();
    const measure::Figures& all = at_own->summary.all;
    tried.attainment = all.attainment();
    tried.ttft_p95_ns = all.ttft.percentile(95);
    tried.itl_p95_ns = all.itl.percentile(95);
    tried.mean_e2e_ns = all.e2e.mean();
    tried.most_live = at_own->most_live;
    advice_.rate = at_own->rate();
    find_goodput(tried);
    advice_.tried.push_back(std::move(tried));
    std::ranges::stable_sort(advice_.tried, is_better);
  }

  // Doubles or halves the speed until the verdict changes, then narrows the factor between.
  void find_goodput(Tried& tried) {
    double good = tried.meets_objectives ? 1 : 0;
    double bad = tried.meets_objectives ? 0 : 1;
    while (good == 0 || bad == 0) {
      const double speed = good == 0 ? bad / 2 : good * 2;
      if (speed > kHighestSpeed || speed < kLowestSpeed) break;
      const auto trial = simulate(tried.candidate, speed);
      if (!trial) return;
      (trial->passes() ? good : bad) = speed;
    }
    for (int halving = 0; halving < kHalvings && good > 0 && bad > 0; ++halving) {
      const double speed = std::sqrt(good * bad);
      const auto trial = simulate(tried.candidate, speed);
      if (!trial) return;
      (trial->passes() ? good : bad) = speed;
    }
    tried.speed = good;
    tried.goodput = tried.speed * advice_.rate;
  }

  std::size_t find_runner_up() const {
    const auto other = std::ranges::find_if(advice_.tried, [&](const Tried& one) {
      return one.candidate.preset != best().candidate.preset && one.candidate.instances == best().candidate.instances;
    });
    if (other != advice_.tried.end()) return static_cast<std::size_t>(other - advice_.tried.begin());
    return advice_.tried.size() > 1 ? 1 : 0;
  }

  void draw_frontier() {
    advice_.runner_up = find_runner_up();
    const double top = std::max(best().speed, 1.0);
    for (const double share : {0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0}) {
      FrontierPoint point;
      point.speed = top * share;
      point.rate = point.speed * advice_.rate;
      const auto of_best = simulate(best().candidate, point.speed);
      const auto of_second = simulate(advice_.tried[advice_.runner_up].candidate, point.speed);
      if (!of_best || !of_second) return;
      point.best = of_best->summary.all.attainment();
      point.runner_up = of_second->summary.all.attainment();
      advice_.frontier.push_back(point);
    }
  }

  const AdviceRequest& request_;
  Advice advice_;
  std::optional<Error> broken_;
};

}  // namespace

std::vector<const Tried*> Advice::by_instances() const {
  std::vector<const Tried*> list;
  for (const Tried& one : tried) {
    Candidate same = one.candidate;
    same.instances = tried.front().candidate.instances;
    same.placement = tried.front().candidate.placement;
    // One engine has no placement; of several, only the best one's.
    const bool placed = one.candidate.instances == 1 || one.candidate.placement == same.placement;
    if (placed && same == tried.front().candidate) list.push_back(&one);
  }
  std::ranges::sort(list, {}, [](const Tried* one) { return one->candidate.instances; });
  return list;
}

Result<Advice> advise(const AdviceRequest& request) { return Search(request).run(); }

}  // namespace paternoster::simulator
