#include "bench/run_json.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/json_writer.h"
#include "measure/summary_json.h"

namespace paternoster::bench {
namespace {

using measure::RequestRecord;

constexpr double kSecond = 1e9;

template <typename Append>
void append_list(JsonObject& object, std::string_view name, const std::vector<Sighting>& sightings, Append append) {
  std::string& out = object.key(name);
  out += '[';
  for (const Sighting& sighting : sightings) {
    if (&sighting != sightings.data()) out += ',';
    append(out, sighting.record);
  }
  out += ']';
}

double seconds(std::int64_t from_ns, std::int64_t to_ns) { return static_cast<double>(to_ns - from_ns) / kSecond; }

void append_gaps(std::string& out, const RequestRecord& record) {
  out += '[';
  for (std::size_t i = 1; i < record.arrivals.size(); ++i) {
    if (i > 1) out += ',';
    append_number(out, seconds(record.arrivals[i - 1].at_ns, record.arrivals[i].at_ns));
  }
  out += ']';
}

// The lists that vLLM's plots and `bench compare` read. As there, who failed has zeros and an error.
void append_details(JsonObject& object, const std::vector<Sighting>& sightings) {
  append_list(object, "input_lens", sightings, [](std::string& out, const RequestRecord& record) {
    append_integer(out, record.input_tokens);
  });
  append_list(object, "output_lens", sightings, [](std::string& out, const RequestRecord& record) {
    append_integer(out, record.output_tokens);
  });
  append_list(object, "ttfts", sightings, [](std::string& out, const RequestRecord& record) {
    append_number(out, record.completed() ? seconds(record.scheduled_ns, record.first_token_ns) : 0.0);
  });
  append_list(object, "latencies", sightings, [](std::string& out, const RequestRecord& record) {
    append_number(out, record.completed() ? seconds(record.scheduled_ns, record.last_token_ns) : 0.0);
  });
  append_list(object, "itls", sightings, append_gaps);
  append_list(object, "start_times", sightings, [](std::string& out, const RequestRecord& record) {
    append_number(out, seconds(0, record.scheduled_ns));
  });
  append_list(object, "errors", sightings, [](std::string& out, const RequestRecord& record) {
    append_string(out, record.error);
  });
}

void append_quality(JsonObject& outer, const BenchRun& run) {
  const Quality& quality = run.quality;
  JsonObject object(outer.key("client"));
  object.field("loop_lag_p99_ms", quality.lag_p99_ns / 1e6)
      .field("bunched_share", quality.bunched_share)
      .field("tokens_spread", quality.spread)
      .field("usage_untold", quality.untold)
      .field("unstreamed", quality.unstreamed)
      .field("short_answers", quality.short_answers)
      .field("answers_checked", quality.checked)
      .field("answers_miscounted", quality.miscounted)
      .field("connections_opened", run.load.connections.opened)
      .field("connections_reused", run.load.connections.reused)
      .field("calls_resent", run.load.connections.resent);
  object.end();
  if (quality.outside.empty()) return;
  JsonObject server(outer.key("server_clock"));
  server.field("median_ttft_ms", quality.server_ttft.median() / 1e6)
      .field("median_tpot_ms", quality.server_tpot.median() / 1e6)
      .field("median_outside_ms", quality.outside.median() / 1e6)
      .field("p95_outside_ms", quality.outside.percentile(95) / 1e6);
  server.end();
}

void append_server_watch(JsonObject& outer, const BenchRun& run) {
  if (!run.server.told) return;
  double running = 0;
  double waiting = 0;
  for (const ServerSample& sample : run.server.samples) {
    running = std::max(running, sample.running);
    waiting = std::max(waiting, sample.waiting);
  }
  JsonObject object(outer.key("server_metrics"));
  object.field("peak_running", running)
      .field("peak_waiting", waiting)
      .field("peak_kv_usage", run.server.peak_kv_usage())
      .field("preemptions", run.server.preemptions);
  object.end();
}

void append_intervals(JsonObject& outer, const BenchRun& run) {
  JsonObject object(outer.key("intervals_95"));
  for (const auto& [key, interval] : run.intervals) {
    std::string& out = object.key(key);
    out += '[';
    append_number(out, interval.low);
    out += ',';
    append_number(out, interval.high);
    out += ']';
  }
  object.end();
}

void append_notes(JsonObject& outer, const BenchRun& run) {
  std::string& out = outer.key("notes");
  out += '[';
  for (const Note& note : run.notes) {
    if (&note != run.notes.data()) out += ',';
    JsonObject(out).field("code", note.code).field("warns", note.warns).field("text", note.text).end();
  }
  out += ']';
}

}  // namespace

std::string run_json(const BenchRun& run, const RunIdentity& identity) {
  std::string out;
  JsonObject object(out);
  object.field("date", identity.date)
      .field("backend", identity.backend)
      .field("endpoint_type", identity.backend)
      .field("endpoint", identity.endpoint)
      .field("label", run.label)
      .field("model_id", identity.model)
      .field("tokenizer_id", identity.model)
      .field("tool", "paternoster " + identity.version)
      .field("num_prompts", identity.planned)
      .field("arrivals", identity.arrivals)
      .field("seed", identity.seed)
      .field("burstiness", identity.burstiness);
  if (run.offered_rate > 0) {
    object.field("request_rate", run.offered_rate);
  } else {
    object.field("request_rate", "inf");  // vLLM's word for: as soon as it may
  }
  if (identity.max_concurrency > 0) {
    object.field("max_concurrency", identity.max_concurrency);
  } else {
    object.null("max_concurrency");
  }
  measure::append_summary(object, run.summary);
  object.field("max_output_tokens_per_s", run.peak_output_rate)
      .field("max_concurrent_requests", run.load.most_in_flight)
      .field("drift", run.drift);
  append_intervals(object, run);
  append_quality(object, run);
  append_server_watch(object, run);
  append_notes(object, run);
  append_details(object, run.load.sightings);
  object.end();
  out += '\n';
  return out;
}

std::string records_jsonl(const BenchRun& run) {
  std::string out;
  for (const Sighting& sighting : run.load.sightings) {
    measure::append_record(out, sighting.record);
    out += '\n';
  }
  return out;
}

Result<void> write_file(const std::string& path, const std::string& text) {
  const std::string draft = path + "." + std::to_string(getpid()) + ".part";
  std::ofstream out(draft, std::ios::binary);
  out << text;
  out.close();
  std::error_code failed;
  if (out) std::filesystem::rename(draft, path, failed);
  if (out && !failed) return {};
  std::filesystem::remove(draft, failed);
  return failure(ErrorCode::kUnavailable, "cannot write " + path);
}

}  // namespace paternoster::bench
