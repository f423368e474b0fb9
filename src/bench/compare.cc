#include "bench/compare.h"

#include <boost/json.hpp>
#include <cmath>
#include <fstream>

namespace paternoster::bench {

namespace json = boost::json;

namespace {

constexpr const char* kRates[] = {"output_throughput", "request_throughput"};

struct Look {
  const char* metric;
  const char* statistic;
  Statistic how;
};
constexpr Look kLooks[] = {{"ttft", "mean", kMean},   {"ttft", "median", {50}}, {"ttft", "p95", {95}},
                           {"tpot", "mean", kMean},   {"tpot", "median", {50}}, {"tpot", "p95", {95}},
                           {"e2el", "mean", kMean},   {"e2el", "median", {50}}, {"e2el", "p95", {95}}};
// With the rates and the share of requests that completed.
constexpr double kFigures = std::size(kLooks) + std::size(kRates) + 1;
constexpr double kConfidence = 1 - 0.05 / kFigures;

double number_of(const json::value& value) {
  boost::system::error_code failed;
  const double number = value.to_number<double>(failed);
  return failed || !std::isfinite(number) ? 0 : number;
}

std::vector<double> numbers_of(const json::object& object, const char* name) {
  std::vector<double> numbers;
  const json::value* list = object.if_contains(name);
  if (list == nullptr || !list->is_array()) return numbers;
  for (const json::value& value : list->get_array()) numbers.push_back(number_of(value));
  return numbers;
}

std::string text_of(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || value->is_null()) return "";
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

bool failed_at(const json::object& object, std::size_t index) {
  const json::value* errors = object.if_contains("errors");
  if (errors == nullptr || !errors->is_array() || index >= errors->get_array().size()) return false;
  const json::value& error = errors->get_array()[index];
  return error.is_string() && !error.get_string().empty();
}

// vLLM writes no E2E list of its own name in older files: TTFT and the gaps add up to it.
double latency_at(const json::object& object, const std::vector<double>& latencies, double ttft, std::size_t index) {
  if (index < latencies.size()) return latencies[index];
  const json::value* gaps = object.if_contains("itls");
  double sum = ttft;
  if (gaps != nullptr && gaps->is_array() && index < gaps->get_array().size() && gaps->get_array()[index].is_array()) {
    for (const json::value& gap : gaps->get_array()[index].get_array()) sum += number_of(gap);
  }
  return sum;
}

void read_values(const json::object& object, RecordedRun& run) {
  const std::vector<double> ttfts = numbers_of(object, "ttfts");
  const std::vector<double> latencies = numbers_of(object, "latencies");
  const std::vector<double> outputs = numbers_of(object, "output_lens");
  for (std::size_t i = 0; i < ttfts.size(); ++i) {
    if (failed_at(object, i) || ttfts[i] <= 0) continue;
    const double latency = latency_at(object, latencies, ttfts[i], i);
    run.values_ms["ttft"].push_back(ttfts[i] * 1e3);
    run.values_ms["e2el"].push_back(latency * 1e3);
    if (i < outputs.size() && outputs[i] > 1) {
      run.values_ms["tpot"].push_back((latency - ttfts[i]) / (outputs[i] - 1) * 1e3);
    }
  }
}

void read_intervals(const json::object& object, RecordedRun& run) {
  const json::value* intervals = object.if_contains("intervals_95");
  if (intervals == nullptr || !intervals->is_object()) return;
  for (const auto& [key, value] : intervals->get_object()) {
    if (!value.is_array() || value.get_array().size() != 2) continue;
    run.intervals[std::string(key)] = {number_of(value.get_array()[0]), number_of(value.get_array()[1])};
  }
}

Verdict verdict_of(const Interval& interval, bool less_is_better) {
  if (interval.low <= 0 && interval.high >= 0) return Verdict::kWithinNoise;
  return (interval.high < 0) == less_is_better ? Verdict::kBetter : Verdict::kWorse;
}

Difference latency_difference(const Look& look, const RecordedRun& before, const RecordedRun& after,
                              std::uint64_t seed) {
  Difference difference;
  difference.figure = std::string(look.statistic) + "_" + look.metric + "_ms";
  const auto left = before.values_ms.find(look.metric);
  const auto right = after.values_ms.find(look.metric);
  if (left == before.values_ms.end() || right == after.values_ms.end()) return difference;
  difference.before = value_of(look.how, left->second);
  difference.after = value_of(look.how, right->second);
  difference.interval = interval_of_difference(look.how, left->second, right->second, kConfidence, seed);
  if (difference.interval) difference.verdict = verdict_of(*difference.interval, true);
  return difference;
}

// The files hold 95 % intervals: half of one, made as wide as the others are, is what a rate may be off.
Difference rate_difference(const char* figure, const RecordedRun& before, const RecordedRun& after) {
  Difference difference;
  difference.figure = figure;
  const auto figure_of = [&](const RecordedRun& run) {
    const auto found = run.figures.find(figure);
    return found == run.figures.end() ? 0 : found->second;
  };
  difference.before = figure_of(before);
  difference.after = figure_of(after);
  const auto left = before.intervals.find(figure);
  const auto right = after.intervals.find(figure);
  if (left == before.intervals.end() || right == after.intervals.end()) return difference;
  constexpr double kWider = 2.87 / 1.96;  // the normal's quantiles at kConfidence and at 95 %
  const auto half = [](const Interval& interval) { return (interval.high - interval.low) / 2; };
  const double off = kWider * std::hypot(half(left->second), half(right->second));
  const double change = difference.after - difference.before;
  difference.interval = Interval{change - off, change + off};
  difference.verdict = verdict_of(*difference.interval, false);
  return difference;
}

// Two shares, by the normal approximation with one success and one failure added (Agresti and Caffo).
Difference success_difference(const RecordedRun& before, const RecordedRun& after) {
  Difference difference;
  difference.figure = "success_rate";
  const auto share = [](const RecordedRun& run) {
    const double all = static_cast<double>(run.completed + run.failed);
    return all > 0 ? static_cast<double>(run.completed) / all : 0;
  };
  const auto adjusted = [](const RecordedRun& run) {
    return static_cast<double>(run.completed + 1) / static_cast<double>(run.completed + run.failed + 2);
  };
  difference.before = share(before);
  difference.after = share(after);
  if (before.completed + before.failed == 0 || after.completed + after.failed == 0) return difference;
  const auto variance = [&](const RecordedRun& run) {
    return adjusted(run) * (1 - adjusted(run)) / static_cast<double>(run.completed + run.failed + 2);
  };
  const double off = 2.87 * std::sqrt(variance(before) + variance(after));
  const double change = adjusted(after) - adjusted(before);
  difference.interval = Interval{change - off, change + off};
  difference.verdict = verdict_of(*difference.interval, false);
  return difference;
}

std::vector<std::string> unlike_conditions(const RecordedRun& before, const RecordedRun& after) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : before.conditions) {
    const auto other = after.conditions.find(name);
    if (other == after.conditions.end() || other->second == value) continue;
    lines.push_back(name + ": " + value + " and " + other->second);
  }
  return lines;
}

}  // namespace

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBetter: return "better";
    case Verdict::kWorse: return "worse";
    case Verdict::kWithinNoise: return "within noise";
    case Verdict::kUnknown: return "cannot be told";
  }
  return "";
}

Result<RecordedRun> parse_run(std::string_view text, const std::string& name) {
  boost::system::error_code failed;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), failed);
  if (failed || !value.is_object()) {
    return failure(ErrorCode::kInvalidFile,
                   name + " is not one JSON object" + (failed ? ": " + failed.message() : std::string()));
  }
  const json::object& object = value.get_object();
  if (object.if_contains("completed") == nullptr || object.if_contains("duration") == nullptr) {
    return failure(ErrorCode::kInvalidFile,
                   name + " is no result of a benchmark: it has no \"completed\" and \"duration\"");
  }
  RecordedRun run;
  run.name = text_of(object, "label").empty() ? name : text_of(object, "label");
  run.completed = static_cast<std::uint64_t>(std::max(number_of(object.at("completed")), 0.0));
  if (const json::value* count = object.if_contains("failed")) {
    run.failed = static_cast<std::uint64_t>(std::max(number_of(*count), 0.0));
  }
  read_values(object, run);
  read_intervals(object, run);
  for (const char* rate : kRates) {
    if (const json::value* figure = object.if_contains(rate)) run.figures[rate] = number_of(*figure);
  }
  for (const char* condition :
       {"model_id", "request_rate", "max_concurrency", "arrivals", "num_prompts", "burstiness"}) {
    if (object.if_contains(condition) != nullptr) run.conditions[condition] = text_of(object, condition);
  }
  for (const char* tokens : {"total_input_tokens", "total_output_tokens"}) {
    const json::value* total = object.if_contains(tokens);
    if (total == nullptr || run.completed == 0) continue;
    const double mean = number_of(*total) / static_cast<double>(run.completed);
    run.conditions[std::string(tokens) + " a request"] = std::to_string(std::lround(mean));
  }
  return run;
}

Result<RecordedRun> read_run(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return failure(ErrorCode::kNotFound, "cannot read " + path);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  return parse_run(text, path);
}

Comparison compare(const RecordedRun& before, const RecordedRun& after, std::uint64_t seed) {
  Comparison comparison;
  comparison.unlike = unlike_conditions(before, after);
  comparison.differences.push_back(success_difference(before, after));
  for (const char* rate : kRates) comparison.differences.push_back(rate_difference(rate, before, after));
  for (const Look& look : kLooks) comparison.differences.push_back(latency_difference(look, before, after, seed));
  return comparison;
}

}  // namespace paternoster::bench
