#include "measure/summary_json.h"

#include <array>
#include <boost/json.hpp>

namespace paternoster::measure {
namespace {

constexpr double kMs = 1e6;

void append_distribution(JsonObject& object, std::string_view name, const Distribution& values,
                         double unit, std::string_view suffix) {
  const auto field = [&](std::string_view statistic, double value) {
    object.field(std::string(statistic) + "_" + std::string(name) + std::string(suffix), value / unit);
  };
  field("mean", values.mean());
  field("median", values.median());
  field("std", values.deviation());
  field("min", values.least());
  field("max", values.largest());
  field("p50", values.percentile(50));
  field("p90", values.percentile(90));
  field("p95", values.percentile(95));
  field("p99", values.percentile(99));
}

void append_by_name(JsonObject& object, std::string_view key, const FiguresByName& list,
                    double duration_s) {
  if (list.empty()) return;
  JsonObject inner(object.key(key));
  for (const auto& [name, figures] : list) {
    // Names come from users: written as a string, not as one of our keys.
    std::string quoted;
    append_string(quoted, name);
    JsonObject one(inner.key(std::string_view(quoted).substr(1, quoted.size() - 2)));
    append_figures(one, figures, duration_s);
    one.end();
  }
  inner.end();
}

double per_second(double count, double duration_s) { return duration_s > 0 ? count / duration_s : 0; }

struct Field {
  const char* name;
  std::int64_t RequestRecord::* member;
};
constexpr std::array<Field, 7> kTimes = {{{"scheduled_ns", &RequestRecord::scheduled_ns},
                                          {"sent_ns", &RequestRecord::sent_ns},
                                          {"admitted_ns", &RequestRecord::admitted_ns},
                                          {"first_token_ns", &RequestRecord::first_token_ns},
                                          {"last_token_ns", &RequestRecord::last_token_ns},
                                          {"ended_ns", &RequestRecord::ended_ns},
                                          {"largest_gap_ns", &RequestRecord::largest_gap_ns}}};
struct Count {
  const char* name;
  std::int32_t RequestRecord::* member;
};
constexpr std::array<Count, 5> kCounts = {{{"input_tokens", &RequestRecord::input_tokens},
                                           {"cached_tokens", &RequestRecord::cached_tokens},
                                           {"output_tokens", &RequestRecord::output_tokens},
                                           {"preemptions", &RequestRecord::preemptions},
                                           {"instance", &RequestRecord::instance}}};
constexpr Status kStatuses[] = {Status::kCompleted, Status::kRefused, Status::kFailed,
                                Status::kTimedOut, Status::kCancelled};

Error wrong(std::string_view what) {
  return {ErrorCode::kInvalidFile, "not a request record: " + std::string(what)};
}

Result<std::int64_t> integer_of(const boost::json::object& object, const char* name) {
  const auto* value = object.if_contains(name);
  if (value == nullptr || !value->is_int64()) {
    return std::unexpected(wrong(std::string("\"") + name + "\" must be a whole number"));
  }
  return value->get_int64();
}

Result<std::string> text_of(const boost::json::object& object, const char* name) {
  const auto* value = object.if_contains(name);
  if (value == nullptr) return std::string();
  if (!value->is_string()) {
    return std::unexpected(wrong(std::string("\"") + name + "\" must be a string"));
  }
  return std::string(value->get_string());
}

Result<void> read_arrivals(const boost::json::object& object, RequestRecord& record) {
  const auto* list = object.if_contains("arrivals");
  if (list == nullptr) return {};
  const auto bad = std::unexpected(wrong("\"arrivals\" must be a list of [at_ns, tokens]"));
  if (!list->is_array()) return bad;
  for (const auto& pair : list->get_array()) {
    if (!pair.is_array() || pair.get_array().size() != 2 || !pair.get_array()[0].is_int64() ||
        !pair.get_array()[1].is_int64()) {
      return bad;
    }
    record.arrivals.push_back({pair.get_array()[0].get_int64(),
                               static_cast<std::int32_t>(pair.get_array()[1].get_int64())});
  }
  return {};
}

Result<void> read_texts(const boost::json::object& object, RequestRecord& record) {
  struct Text {
    const char* name;
    std::string RequestRecord::* member;
  };
  constexpr std::array<Text, 3> kTexts = {{{"class", &RequestRecord::class_name},
                                           {"tenant", &RequestRecord::tenant},
                                           {"error", &RequestRecord::error}}};
  for (const Text& one : kTexts) {
    auto text = text_of(object, one.name);
    if (!text) return std::unexpected(text.error());
    record.*one.member = std::move(*text);
  }
  const auto status = text_of(object, "status");
  if (!status) return std::unexpected(status.error());
  for (const Status one : kStatuses) {
    if (*status == to_string(one)) {
      record.status = one;
      return {};
    }
  }
  return std::unexpected(wrong("\"status\" is '" + *status + "'"));
}

}  // namespace

void append_figures(JsonObject& object, const Figures& figures, double duration_s) {
  object.field("completed", figures.completed)
      .field("failed", figures.failed + figures.refused)
      .field("refused", figures.refused)
      .field("total_input_tokens", figures.input_tokens)
      .field("total_output_tokens", figures.output_tokens)
      .field("total_cached_tokens", figures.cached_tokens)
      .field("preemptions", figures.preemptions)
      .field("request_throughput", per_second(static_cast<double>(figures.completed), duration_s))
      .field("request_goodput", per_second(static_cast<double>(figures.good), duration_s))
      .field("attainment", figures.attainment())
      .field("output_throughput", per_second(static_cast<double>(figures.output_tokens), duration_s))
      .field("total_token_throughput",
             per_second(static_cast<double>(figures.input_tokens + figures.output_tokens), duration_s));
  for (const Metric metric : kMetrics) {
    append_distribution(object, to_string(metric), figures.of(metric), kMs, "_ms");
  }
  append_distribution(object, "queue", figures.queue, kMs, "_ms");
  append_distribution(object, "normalized", figures.normalized, kMs, "_ms");
  append_distribution(object, "lateness", figures.lateness, kMs, "_ms");
  append_distribution(object, "input_len", figures.input_lengths, 1, "");
  append_distribution(object, "output_len", figures.output_lengths, 1, "");
}

void append_summary(JsonObject& object, const Summary& summary) {
  object.field("duration", summary.duration_s);
  append_figures(object, summary.all, summary.duration_s);
  if (!summary.objectives.empty()) {
    object.field("slo", to_string(summary.objectives)).field("slo_met", summary.meets_objectives());
  }
  object.field("jain_index", summary.jain);
  append_by_name(object, "classes", summary.classes, summary.duration_s);
  append_by_name(object, "tenants", summary.tenants, summary.duration_s);
}

void append_record(std::string& out, const RequestRecord& record) {
  JsonObject object(out);
  object.field("id", record.id).field("status", to_string(record.status));
  if (!record.class_name.empty()) object.field("class", record.class_name);
  if (!record.tenant.empty()) object.field("tenant", record.tenant);
  if (!record.error.empty()) object.field("error", record.error);
  for (const Field& one : kTimes) object.field(one.name, record.*one.member);
  for (const Count& one : kCounts) object.field(one.name, record.*one.member);
  if (!record.arrivals.empty()) {
    std::string& list = object.key("arrivals");
    list += '[';
    for (const TokenArrival& arrival : record.arrivals) {
      if (list.back() != '[') list += ',';
      list += '[';
      append_integer(list, arrival.at_ns);
      list += ',';
      append_integer(list, arrival.tokens);
      list += ']';
    }
    list += ']';
  }
  object.end();
}

Result<RequestRecord> parse_record(std::string_view line) {
  boost::system::error_code error;
  const auto value = boost::json::parse(line, error);
  if (error) return std::unexpected(wrong(error.message()));
  if (!value.is_object()) return std::unexpected(wrong("it is no JSON object"));
  const boost::json::object& object = value.get_object();
  RequestRecord record;
  if (auto read = read_texts(object, record); !read) return std::unexpected(read.error());
  const auto id = integer_of(object, "id");
  if (!id) return std::unexpected(id.error());
  record.id = static_cast<std::uint64_t>(*id);
  for (const Field& one : kTimes) {
    const auto number = integer_of(object, one.name);
    if (!number) return std::unexpected(number.error());
    record.*one.member = *number;
  }
  for (const Count& one : kCounts) {
    const auto number = integer_of(object, one.name);
    if (!number) return std::unexpected(number.error());
    if (*number != static_cast<std::int32_t>(*number)) {
      return std::unexpected(wrong(std::string("\"") + one.name + "\" is out of range"));
    }
    record.*one.member = static_cast<std::int32_t>(*number);
  }
  if (auto read = read_arrivals(object, record); !read) return std::unexpected(read.error());
  return record;
}

}  // namespace paternoster::measure
