#include "bench/analysis.h"

#include <algorithm>
#include <cmath>

#include "base/duration.h"

namespace paternoster::bench {

using measure::Metric;

namespace {

constexpr std::size_t kMostChecked = 200;  // answers tokenized again
constexpr double kMs = 1e6;

std::string percent_text(double share) {
  const double percent = share * 100;
  char text[32];
  std::snprintf(text, sizeof text, percent < 10 ? "%.1f %%" : "%.0f %%", percent);
  return text;
}

std::string count_text(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// Where the server tells how long the request queued, the record learns when it got its seat.
void take_server_clock(Sighting& sighting, Quality& quality) {
  measure::RequestRecord& record = sighting.record;
  const api::ServerTimings& timings = sighting.timings;
  if (!record.completed() || record.sent_ns < 0) return;
  if (timings.queue_ns >= 0) record.admitted_ns = record.sent_ns + timings.queue_ns;
  if (timings.first_token_ns >= 0) {
    quality.server_ttft.add(static_cast<double>(timings.first_token_ns));
    quality.outside.add(
        static_cast<double>(
            std::max<std::int64_t>(record.first_token_ns - record.sent_ns - timings.first_token_ns, 0)));
  }
  if (timings.decode_ns >= 0 && record.output_tokens > 1) {
    quality.server_tpot.add(static_cast<double>(timings.decode_ns) / (record.output_tokens - 1));
  }
}

Quality quality_of(LoadResult& load, const AnalysisOptions& options) {
  Quality quality;
  quality.lag_p99_ns = load.loop_lag.percentile(99);
  std::int64_t chunks = 0;
  std::int64_t bunched = 0;
  for (Sighting& sighting : load.sightings) {
    take_server_clock(sighting, quality);
    if (!sighting.record.completed()) continue;
    chunks += std::max(sighting.chunks - 1, 0);
    bunched += sighting.bunched;
    quality.spread += sighting.spread;
    quality.untold += !sighting.usage_told;
    quality.unstreamed += !sighting.streamed;
    if (options.exact_length && options.asked_tokens) {
      quality.short_answers += sighting.record.output_tokens < options.asked_tokens(sighting.record);
    }
    if (options.count_tokens && quality.checked < kMostChecked) {
      const auto count = options.count_tokens(sighting.text);
      quality.checked += count.has_value();
      quality.miscounted += count && *count != sighting.record.output_tokens;
    }
  }
  if (chunks > 0) quality.bunched_share = static_cast<double>(bunched) / static_cast<double>(chunks);
  return quality;
}

// The commonest reason for which requests did not complete.
std::string commonest_error(const std::vector<Sighting>& sightings) {
  std::map<std::string, std::size_t> counts;
  for (const Sighting& sighting : sightings) {
    if (!sighting.record.error.empty()) ++counts[sighting.record.error];
  }
  const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  return most == counts.end() ? "" : most->first;
}

void note_service(const BenchRun& run, std::vector<Note>& notes) {
  const measure::Figures& all = run.summary.all;
  if (run.load.stopped) notes.push_back({"stopped", "the run was stopped before its end"});
  if (all.failed + all.refused > 0) {
    notes.push_back({"failures", count_text(all.failed, "request") + " failed and " + std::to_string(all.refused) +
                                     " were refused; none of them is in a latency. The commonest reason: " +
                                     commonest_error(run.load.sightings)});
  }
  if (run.drift > 1.5) {
    char factor[16];
    std::snprintf(factor, sizeof factor, "%.1f", run.drift);
    notes.push_back({"overload", std::string("the queue grew all along (the last third took ") + factor +
                                     " times as long as the first): latencies depend on how long the run was"});
  }
}

void note_clock(const BenchRun& run, std::vector<Note>& notes) {
  const measure::Distribution& lateness = run.summary.all.lateness;
  const double ttft = run.summary.all.ttft.median();
  const double late = lateness.percentile(99);
  if (late > 5 * kMs && late > 0.02 * ttft) {
    notes.push_back({"late", "requests left up to " + duration_text(late) + " (p99) behind their time; latencies " +
                                 "count from the time they were meant to leave"});
  }
  if (run.quality.lag_p99_ns > 5 * kMs) {
    notes.push_back({"lag", "this program was itself up to " + duration_text(run.quality.lag_p99_ns) +
                                " (p99) late in looking: give it a processor of its own, or another machine"});
  }
  if (run.quality.bunched_share > 0.3) {
    notes.push_back({"bunched", percent_text(run.quality.bunched_share) +
                                    " of chunks came right behind another: something between holds the stream back, " +
                                    "so TTFT and gaps are those of a buffer"});
  }
}

void note_counts(const BenchRun& run, std::vector<Note>& notes) {
  const Quality& quality = run.quality;
  if (quality.untold > 0) {
    notes.push_back({"untold", count_text(quality.untold, "answer") +
                                   " came without usage: a chunk is counted as a token, prompts as they were meant"});
  }
  if (quality.spread > 0) {
    notes.push_back({"spread", count_text(quality.spread, "answer") + " had more tokens than chunks, and the server " +
                                   "does not say which: tokens are spread evenly, gaps are between chunks", false});
  }
  if (quality.unstreamed > 0) {
    notes.push_back({"unstreamed", count_text(quality.unstreamed, "answer") +
                                       " came in one piece although a stream was asked for: TTFT equals E2E"});
  }
  if (quality.short_answers > 0) {
    notes.push_back({"short", count_text(quality.short_answers, "answer") +
                                  " ended early: the server does not know ignore_eos, or ran out of context"});
  }
  if (quality.miscounted * 20 > quality.checked) {
    notes.push_back({"miscounted", std::to_string(quality.miscounted) + " of " + std::to_string(quality.checked) +
                                       " answers have another number of tokens than the server says"});
  }
}

void note_server_clock(const BenchRun& run, std::vector<Note>& notes) {
  if (run.quality.outside.empty()) return;
  const double outside = run.quality.outside.median();
  const bool much = outside > 5 * kMs && outside > 0.1 * run.quality.server_ttft.median();
  notes.push_back({"outside", "by its own clock the server's first token took " +
                                  duration_text(run.quality.server_ttft.median()) + " (median); " +
                                  duration_text(outside) + " more passed outside it", much});
}

double drift_of(const std::vector<double>& latencies) {
  const std::size_t third = latencies.size() / 3;
  if (third < 5) return 1;
  const std::span<const double> all(latencies);
  const double first = value_of(kMean, all.first(third));
  return first > 0 ? value_of(kMean, all.last(third)) / first : 1;
}

// Tokens of each whole second of the run.
std::vector<double> output_rates(const LoadResult& load) {
  std::vector<double> rates(static_cast<std::size_t>(std::max<std::int64_t>(load.duration_ns / 1'000'000'000, 1)));
  for (const Sighting& sighting : load.sightings) {
    for (const measure::TokenArrival& arrival : sighting.record.arrivals) {
      const auto second = static_cast<std::size_t>(std::max<std::int64_t>(arrival.at_ns, 0) / 1'000'000'000);
      if (second < rates.size()) rates[second] += arrival.tokens;
    }
  }
  return rates;
}

void add_intervals(BenchRun& run, const AnalysisOptions& options) {
  const auto add = [&](const std::string& key, Statistic statistic, const std::vector<double>& values) {
    if (const auto interval = interval_of(statistic, values, options.confidence, options.seed)) {
      run.intervals[key] = *interval;
    }
  };
  for (const Metric metric : {Metric::kTtft, Metric::kTpot, Metric::kE2e}) {
    const std::vector<double> values = values_of(run.load.sightings, metric);
    const std::string name = std::string(to_string(metric)) + "_ms";
    add("mean_" + name, kMean, values);
    add("median_" + name, {50}, values);
    add("p95_" + name, {95}, values);
    add("p99_" + name, {99}, values);
  }
  // Without the seconds in which the last requests ran out.
  std::vector<double> rates = output_rates(run.load);
  run.peak_output_rate = *std::ranges::max_element(rates);
  const auto sending = static_cast<std::size_t>(run.load.sending_ns / 1'000'000'000);
  if (sending >= 8 && sending < rates.size()) rates.resize(sending);
  add("output_throughput", kMean, rates);
}

}  // namespace

std::vector<double> values_of(const std::vector<Sighting>& sightings, Metric metric) {
  std::vector<double> values;
  for (const Sighting& sighting : sightings) {
    const measure::RequestRecord& record = sighting.record;
    if (!record.completed()) continue;
    switch (metric) {
      case Metric::kTtft: values.push_back(static_cast<double>(record.ttft_ns()) / kMs); break;
      case Metric::kE2e: values.push_back(static_cast<double>(record.e2e_ns()) / kMs); break;
      case Metric::kItl: values.push_back(static_cast<double>(record.largest_gap_ns) / kMs); break;
      case Metric::kTpot:
        if (record.output_tokens > 1) values.push_back(record.tpot_ns() / kMs);
        break;
    }
  }
  return values;
}

BenchRun analyse(LoadResult load, const AnalysisOptions& options) {
  BenchRun run;
  run.quality = quality_of(load, options);
  measure::Summarizer summarizer(options.objectives);
  for (const Sighting& sighting : load.sightings) summarizer.add(sighting.record);
  run.summary = summarizer.finish(static_cast<double>(load.duration_ns));
  run.load = std::move(load);
  run.drift = drift_of(values_of(run.load.sightings, Metric::kE2e));
  add_intervals(run, options);
  note_service(run, run.notes);
  note_clock(run, run.notes);
  note_counts(run, run.notes);
  note_server_clock(run, run.notes);
  return run;
}

}  // namespace paternoster::bench
