#include "simulator/fit_requests.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cmath>
#include <optional>

#include "measure/json_number.h"
#include "measure/summary_json.h"
#include "simulator/simulation.h"

namespace paternoster::simulator {
namespace {

constexpr std::size_t kTerms = 4;
constexpr int kMostRounds = 25;
using Logs = std::array<double, kTerms>;  // logarithms of coefficients in picoseconds

cost::StepModel model_of(const Logs& logs) {
  std::array<std::int64_t, kTerms> ps{};
  for (std::size_t i = 0; i < kTerms; ++i) ps[i] = std::llround(std::exp(std::clamp(logs[i], 0.0, 40.0)));
  cost::StepModel model;
  model.terms = {ps[0], ps[1], ps[1], ps[2], ps[3]};
  return model;
}

struct Times {
  double ttft = 0;
  double tpot = 0;
  double e2e = 0;
};

class Problem {
 public:
  Problem(const std::vector<MeasuredRequest>& requests, const scheduler::Config& config, std::size_t fitted)
      : requests_(requests), config_(config), fitted_(fitted) {
    auto trace = std::make_shared<workload::Trace>();
    for (const MeasuredRequest& one : requests) {
      trace->rows.push_back({one.at_ns, one.input_tokens, one.output_tokens, {}, {}, {}});
      real_.push_back(times_of(one.at_ns, one.first_token_ns, one.last_token_ns, one.output_tokens));
    }
    description_.trace = std::move(trace);
    description_.count = requests.size();
    for (std::size_t at = 0; at < fitted; ++at) {
      scale_.ttft += real_[at].ttft / static_cast<double>(fitted);
      scale_.tpot += real_[at].tpot / static_cast<double>(fitted);
      scale_.e2e += real_[at].e2e / static_cast<double>(fitted);
    }
  }

  static Times times_of(std::int64_t at, std::int64_t first, std::int64_t last, std::int32_t tokens) {
    return {static_cast<double>(first - at),
            tokens > 1 ? static_cast<double>(last - first) / (tokens - 1) : 0.0, static_cast<double>(last - at)};
  }

  // Simulates; nothing if a request did not complete.
  std::optional<Outcome> simulate(const Logs& logs, std::vector<Times>& times) {
    Options options;
    options.config = config_;
    options.model = model_of(logs);
    times.assign(requests_.size(), {});
    std::size_t done = 0;
    options.on_record = [&](const measure::RequestRecord& record) {
      if (!record.completed()) return;
      ++done;
      times[record.id] = times_of(record.scheduled_ns, record.first_token_ns, record.last_token_ns,
                                  record.output_tokens);
    };
    auto source = workload::Source::create(description_);
    if (!source) return std::nullopt;
    auto simulation = Simulation::create(std::move(options), std::move(*source));
    if (!simulation) return std::nullopt;
    ++simulations_;
    Outcome outcome = simulation->run();
    return done == requests_.size() ? std::optional(std::move(outcome)) : std::nullopt;
  }

  // Misses of the fitted requests, in units of the mean of each kind of time.
  std::optional<std::vector<double>> misses(const Logs& logs) {
    std::vector<Times> times;
    if (!simulate(logs, times)) return std::nullopt;
    std::vector<double> misses;
    for (std::size_t at = 0; at < fitted_; ++at) {
      misses.push_back((times[at].ttft - real_[at].ttft) / std::max(scale_.ttft, 1.0));
      misses.push_back((times[at].tpot - real_[at].tpot) / std::max(scale_.tpot, 1.0));
      misses.push_back((times[at].e2e - real_[at].e2e) / std::max(scale_.e2e, 1.0));
    }
    return misses;
  }

  MeanTimes mean(const std::vector<Times>& times, std::size_t from, std::size_t to) const {
    MeanTimes mean;
    double tpots = 0;
    for (std::size_t at = from; at < to; ++at) {
      mean.ttft_ns += times[at].ttft / static_cast<double>(to - from);
      mean.e2e_ns += times[at].e2e / static_cast<double>(to - from);
      if (requests_[at].output_tokens < 2) continue;
      mean.tpot_ns += times[at].tpot;
      ++tpots;
    }
    mean.tpot_ns /= std::max(tpots, 1.0);
    return mean;
  }

  const std::vector<Times>& real() const { return real_; }
  std::uint64_t simulations() const { return simulations_; }

 private:
  const std::vector<MeasuredRequest>& requests_;
  const scheduler::Config& config_;
  std::size_t fitted_;
  workload::Description description_;
  std::vector<Times> real_;
  Times scale_;
  std::uint64_t simulations_ = 0;
};

double squares(const std::vector<double>& misses) {
  double sum = 0;
  for (const double miss : misses) sum += miss * miss;
  return sum;
}

// Gaussian elimination with pivoting.
std::optional<Logs> solve(std::array<Logs, kTerms> rows, Logs right) {
  for (std::size_t i = 0; i < kTerms; ++i) {
    std::size_t pivot = i;
    for (std::size_t j = i + 1; j < kTerms; ++j) {
      if (std::abs(rows[j][i]) > std::abs(rows[pivot][i])) pivot = j;
    }
    if (std::abs(rows[pivot][i]) < 1e-12) return std::nullopt;
    std::swap(rows[i], rows[pivot]);
    std::swap(right[i], right[pivot]);
    for (std::size_t j = i + 1; j < kTerms; ++j) {
      const double factor = rows[j][i] / rows[i][i];
      for (std::size_t k = i; k < kTerms; ++k) rows[j][k] -= factor * rows[i][k];
      right[j] -= factor * right[i];
    }
  }
  Logs solution{};
  for (std::size_t i = kTerms; i-- > 0;) {
    double sum = right[i];
    for (std::size_t k = i + 1; k < kTerms; ++k) sum -= rows[i][k] * solution[k];
    solution[i] = sum / rows[i][i];
  }
  return solution;
}

// One round: the slopes by small changes, then ever shorter steps until one is downhill. False: none is.
bool improve(Problem& problem, Logs& logs, std::vector<double>& misses, double& damping) {
  constexpr double kChange = 0.03;
  std::array<std::vector<double>, kTerms> slopes;
  for (std::size_t i = 0; i < kTerms; ++i) {
    Logs changed = logs;
    changed[i] += kChange;
    auto there = problem.misses(changed);
    if (!there) return false;
    slopes[i] = std::move(*there);
    for (std::size_t at = 0; at < misses.size(); ++at) slopes[i][at] = (slopes[i][at] - misses[at]) / kChange;
  }
  std::array<Logs, kTerms> product{};
  Logs right{};
  for (std::size_t i = 0; i < kTerms; ++i) {
    for (std::size_t j = 0; j < kTerms; ++j) {
      for (std::size_t at = 0; at < misses.size(); ++at) product[i][j] += slopes[i][at] * slopes[j][at];
    }
    for (std::size_t at = 0; at < misses.size(); ++at) right[i] -= slopes[i][at] * misses[at];
  }
  const double before = squares(misses);
  for (int attempt = 0; attempt < 6; ++attempt, damping *= 6) {
    auto damped = product;
    for (std::size_t i = 0; i < kTerms; ++i) damped[i][i] += damping * (product[i][i] + 1e-6);
    const auto step = solve(damped, right);
    if (!step) continue;
    Logs next = logs;
    for (std::size_t i = 0; i < kTerms; ++i) next[i] += std::clamp((*step)[i], -0.7, 0.7);
    auto there = problem.misses(next);
    if (!there || squares(*there) >= before) continue;
    const bool enough = squares(*there) > before * (1 - 1e-4);
    logs = next;
    misses = std::move(*there);
    damping /= 10;
    return !enough;
  }
  return false;
}

// Where slopes mislead (a changed coefficient may change who is preempted), looking around helps: each
// coefficient a little up and down, in ever smaller steps.
void look_around(Problem& problem, Logs& logs, std::vector<double>& misses) {
  for (double step = 0.4; step > 0.02; step /= 2) {
    for (std::size_t i = 0; i < kTerms; ++i) {
      for (const double change : {step, -step}) {
        Logs next = logs;
        next[i] += change;
        auto there = problem.misses(next);
        if (!there || squares(*there) >= squares(misses)) continue;
        logs = next;
        misses = std::move(*there);
        break;
      }
    }
  }
}

// From the quickest tokens: an engine's constant is most of its fastest step.
Logs first_guess(const std::vector<MeasuredRequest>& requests) {
  double least = 1e18;
  for (const MeasuredRequest& one : requests) {
    if (one.output_tokens < 2) continue;
    least = std::min(least, static_cast<double>(one.last_token_ns - one.first_token_ns) / (one.output_tokens - 1));
  }
  const double fixed_ps = std::max(least, 1000.0) * 0.7 * 1000;
  return {std::log(fixed_ps), std::log(fixed_ps / 250), std::log(fixed_ps / 150'000), std::log(fixed_ps / 5'000'000)};
}

}  // namespace

Result<RequestFit> fit_requests(const std::vector<MeasuredRequest>& requests, const scheduler::Config& config,
                                double share) {
  const auto fitted = static_cast<std::size_t>(share * static_cast<double>(requests.size()));
  if (fitted < 20) return failure(ErrorCode::kInvalidArgument, "a fit needs at least 20 requests");
  Problem problem(requests, config, fitted);
  Logs logs = first_guess(requests);
  auto misses = problem.misses(logs);
  if (!misses) {
    return failure(ErrorCode::kInvalidArgument,
                   "not every request can be served under these limits (context, KV tokens, queue)");
  }
  for (int turn = 0; turn < 2; ++turn) {
    double damping = 0.1;
    for (int round = 0; round < kMostRounds && improve(problem, logs, *misses, damping); ++round) {
    }
    look_around(problem, logs, *misses);
  }
  RequestFit fit;
  std::vector<Times> times;
  const auto outcome = problem.simulate(logs, times);
  fit.model = model_of(logs);
  fit.fitted = fitted;
  fit.fitted_real = problem.mean(problem.real(), 0, fitted);
  fit.fitted_simulated = problem.mean(times, 0, fitted);
  const std::size_t from = fitted < requests.size() ? fitted : 0;
  fit.rest_real = problem.mean(problem.real(), from, requests.size());
  fit.rest_simulated = problem.mean(times, from, requests.size());
  for (std::size_t at = from; at < requests.size(); ++at) {
    fit.request_error += std::abs(times[at].e2e - problem.real()[at].e2e) / std::max(problem.real()[at].e2e, 1.0);
  }
  fit.request_error /= static_cast<double>(requests.size() - from);
  for (const MeasuredRequest& one : requests) {
    fit.makespan_real_ns = std::max(fit.makespan_real_ns, one.last_token_ns);
  }
  fit.makespan_simulated_ns = outcome ? outcome->end_ns : 0;
  fit.preemptions = outcome ? outcome->stats.preemptions : 0;
  fit.simulations = problem.simulations();
  return fit;
}

namespace {

using measure::number_of;

struct RawTimes {
  double arrival_s = 0;
  double queued_s = 0;
  double first_s = 0;
  double last_s = 0;
};

}  // namespace

Result<std::vector<MeasuredRequest>> read_measured(std::istream& in, const std::string& name) {
  std::vector<MeasuredRequest> requests;
  std::optional<RawTimes> origin;  // vLLM: two clocks, made one at the first request
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    const auto wrong = [&](const std::string& what) {
      return failure(ErrorCode::kInvalidFile, name + ":" + std::to_string(number) + ": " + what);
    };
    if (line.empty()) continue;
    boost::system::error_code error;
    const auto value = boost::json::parse(line, error);
    if (error || !value.is_object()) return wrong("it is no JSON object");
    const auto& object = value.get_object();
    MeasuredRequest request;
    if (object.contains("scheduled_ns")) {
      const auto record = measure::parse_record(line);
      if (!record) return wrong(record.error().message);
      if (!record->completed()) continue;
      request = {record->scheduled_ns, record->input_tokens, record->output_tokens, record->first_token_ns,
                 record->last_token_ns};
    } else {
      const auto input = number_of(object, "input_toks");
      const auto output = number_of(object, "output_toks");
      const auto arrival = number_of(object, "arrival_time");
      const auto queued = number_of(object, "queued_ts");
      const auto first = number_of(object, "first_token_ts");
      const auto last = number_of(object, "last_token_ts");
      if (!input || !output || !arrival || !queued || !first || !last) {
        return wrong("it has not all of input_toks, output_toks, arrival_time, queued_ts, first_token_ts, "
                     "last_token_ts");
      }
      if (!origin) origin = RawTimes{*arrival, *queued, 0, 0};
      const auto ns = [](double seconds) { return std::llround(std::clamp(seconds, -1e8, 1e8) * 1e9); };
      request = {ns(*arrival - origin->arrival_s), static_cast<std::int32_t>(std::clamp(*input, 0.0, 1e7)),
                 static_cast<std::int32_t>(std::clamp(*output, 0.0, 1e7)), ns(*first - origin->queued_s),
                 ns(*last - origin->queued_s)};
    }
    if (request.at_ns < 0 || request.input_tokens < 1 || request.output_tokens < 1 ||
        request.first_token_ns < request.at_ns || request.last_token_ns < request.first_token_ns) {
      return wrong("its times or lengths cannot be: they must ascend from the first request's arrival");
    }
    requests.push_back(request);
  }
  std::ranges::stable_sort(requests, {}, &MeasuredRequest::at_ns);
  return requests;
}

}  // namespace paternoster::simulator
