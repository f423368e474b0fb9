#include "bench/policies.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace paternoster::bench {

using measure::Metric;

namespace {

constexpr double kClearly = 1.1;  // a ratio that is worth a setting

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.0f %%", 100 * (ratio - 1));
  return text;
}

double ratio(double value, double base) { return base > 0 ? value / base : 1; }

bool differs(Statistic statistic, Metric metric, const BenchRun& run, const BenchRun& base) {
  const auto interval = interval_of_difference(statistic, values_of(base.load.sightings, metric),
                                               values_of(run.load.sightings, metric), 0.95, 0);
  return interval && (interval->low > 0 || interval->high < 0);
}

// Rates: their intervals do not touch. A closed loop's rate follows from its E2E, which is surer.
bool rates_differ(const BenchRun& run, const BenchRun& base) {
  const auto one = run.intervals.find("output_throughput");
  const auto two = base.intervals.find("output_throughput");
  const bool known = one != run.intervals.end() && two != base.intervals.end();
  const bool apart = known && (one->second.low > two->second.high || one->second.high < two->second.low);
  return apart || differs(kMean, Metric::kE2e, run, base);
}

const PolicyRun* find(std::span<const PolicyRun> runs, const std::string& preset, const std::string& load) {
  const auto found = std::ranges::find_if(runs, [&](const PolicyRun& run) {
    return run.preset == preset && run.load == load && !run.refused && !run.again;
  });
  return found == runs.end() ? nullptr : &*found;
}

std::vector<std::string> in_order(std::span<const PolicyRun> runs, std::string PolicyRun::* member) {
  std::vector<std::string> all;
  for (const PolicyRun& run : runs) {
    if (std::ranges::find(all, run.*member) == all.end()) all.push_back(run.*member);
  }
  return all;
}

bool better(const Against& one) {
  return (one.output > kClearly && one.output_sure) || (one.ttft_p95 < 1 / kClearly && one.ttft_sure) ||
         (one.e2e_p95 < 1 / kClearly && one.e2e_sure);
}

std::string describe(const std::string& preset, const Against& one) {
  const auto part = [](const char* name, double value, bool sure) {
    return std::string(name) + " " + percent(value) + (sure ? "" : " (within noise)");
  };
  return preset + ": " + part("output tok/s", one.output, one.output_sure) + ", " +
         part("TTFT p95", one.ttft_p95, one.ttft_sure) + ", " + part("completion p95", one.e2e_p95, one.e2e_sure);
}

// Whether goodput tells the presets apart: there are targets, and somebody kept them for some request.
bool goes_by_goodput(std::span<const PolicyRun> runs, const std::string& load) {
  return std::ranges::any_of(runs, [&](const PolicyRun& run) {
    return run.load == load && !run.refused && !run.run.summary.objectives.empty() && run.run.summary.goodput() > 0;
  });
}

// The preset with the highest goodput (or output rate, where that tells nothing) at a load; ties go to the first.
std::string best_at(std::span<const PolicyRun> runs, const std::string& load) {
  const bool by_goodput = goes_by_goodput(runs, load);
  std::string best;
  double most = 0;
  for (const PolicyRun& run : runs) {
    if (run.load != load || run.refused || run.again) continue;
    const measure::Summary& summary = run.run.summary;
    const double value = by_goodput ? summary.goodput() : summary.output_rate();
    if (value > most * 1.05) {  // less is no reason to change
      most = value;
      best = run.preset;
    }
  }
  return best;
}

void tell_targets(std::span<const PolicyRun> runs, PolicyVerdict& verdict) {
  if (runs.empty() || runs.front().run.summary.objectives.empty()) return;
  const std::string targets = to_string(runs.front().run.summary.objectives);
  for (const std::string& load : in_order(runs, &PolicyRun::load)) {
    std::string met;
    for (const PolicyRun& run : runs) {
      if (run.load != load || run.refused || run.again || !run.run.summary.meets_objectives()) continue;
      met += (met.empty() ? "" : ", ") + run.preset;
    }
    verdict.sentences.push_back("At " + load + " the targets " + targets +
                                (met.empty() ? " are met by no setting." : " are met by: " + met + "."));
  }
}

// What moved between the baseline's two runs moved for the others too, unseen.
void tell_steadiness(std::span<const PolicyRun> runs, const std::string& baseline, PolicyVerdict& verdict) {
  for (const PolicyRun& run : runs) {
    const PolicyRun* first = run.again ? find(runs, baseline, run.load) : nullptr;
    const auto one = first == nullptr ? std::nullopt : against(run, *first);
    if (!one) continue;
    const auto moved = [](double ratio, bool sure) { return sure && (ratio > kClearly || ratio < 1 / kClearly); };
    if (!moved(one->output, one->output_sure) && !moved(one->e2e_p95, one->e2e_sure)) continue;
    verdict.steady = false;
    verdict.sentences.push_back("The machine was not steady: at " + run.load + " " + describe(baseline, *one) +
                                " from its first run to its last. What follows is not to be trusted: measure again "
                                "with nothing else running.");
  }
}

void tell_best(std::span<const PolicyRun> runs, const std::string& load, PolicyVerdict& verdict) {
  const measure::Summary& best = find(runs, verdict.best, load)->run.summary;
  std::string sentence = "Take --preset " + verdict.best + ": at " + load + " it gives " + number(best.output_rate()) +
                         " output tok/s";
  if (goes_by_goodput(runs, load)) sentence += " and " + number(best.goodput()) + " good requests a second";
  verdict.sentences.push_back(sentence + ".");
}

}  // namespace

double jain_of_speeds(std::span<const Sighting> sightings) {
  double sum = 0;
  double squares = 0;
  double count = 0;
  for (const Sighting& sighting : sightings) {
    const measure::RequestRecord& record = sighting.record;
    if (!record.completed() || record.e2e_ns() <= 0) continue;
    const double speed = record.output_tokens / static_cast<double>(record.e2e_ns());
    sum += speed;
    squares += speed * speed;
    ++count;
  }
  return squares > 0 ? sum * sum / (count * squares) : 1;
}

std::optional<Against> against(const PolicyRun& run, const PolicyRun& baseline) {
  if (run.refused || baseline.refused || run.load != baseline.load) return std::nullopt;
  const measure::Summary& mine = run.run.summary;
  const measure::Summary& base = baseline.run.summary;
  Against result;
  result.output = ratio(mine.output_rate(), base.output_rate());
  result.ttft_p95 = ratio(mine.all.ttft.percentile(95), base.all.ttft.percentile(95));
  result.e2e_p95 = ratio(mine.all.e2e.percentile(95), base.all.e2e.percentile(95));
  result.output_sure = rates_differ(run.run, baseline.run);
  result.ttft_sure = differs({95}, Metric::kTtft, run.run, baseline.run);
  result.e2e_sure = differs({95}, Metric::kE2e, run.run, baseline.run);
  return result;
}

PolicyVerdict judge_policies(std::span<const PolicyRun> runs, const std::string& baseline) {
  PolicyVerdict verdict;
  const auto loads = in_order(runs, &PolicyRun::load);
  std::vector<std::string> details;
  for (const std::string& load : loads) {
    const PolicyRun* base = find(runs, baseline, load);
    std::string sentence;
    for (const PolicyRun& run : runs) {
      if (base == nullptr || run.again || run.load != load || run.preset == baseline) continue;
      const auto one = against(run, *base);
      if (!one) continue;
      if (run.continuous && better(*one) && (run.overlap == 0 || run.overlap > 1)) verdict.pays = true;
      sentence += (sentence.empty() ? "" : "; ") + describe(run.preset, *one);
    }
    if (!sentence.empty()) details.push_back("At " + load + ", against " + baseline + ": " + sentence + ".");
  }
  tell_steadiness(runs, baseline, verdict);
  verdict.sentences.push_back(
      verdict.pays ? "Continuous batching pays for this work."
                   : "Continuous batching does not pay for this work: requests hardly overlap, or the machine gives "
                     "several no more than one.");
  if (!loads.empty()) verdict.best = best_at(runs, loads.back());
  if (!verdict.best.empty()) tell_best(runs, loads.back(), verdict);
  tell_targets(runs, verdict);
  verdict.sentences.insert(verdict.sentences.end(), details.begin(), details.end());
  return verdict;
}

}  // namespace paternoster::bench
