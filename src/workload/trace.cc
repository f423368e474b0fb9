#include "workload/trace.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "workload/trace_rows.h"

namespace paternoster::workload {
namespace {

constexpr TraceFormat kFormats[] = {TraceFormat::kAzure,    TraceFormat::kBurstGpt,
                                    TraceFormat::kVidur,    TraceFormat::kMooncake,
                                    TraceFormat::kTimedTrace, TraceFormat::kRecords};

bool is_csv(TraceFormat format) {
  return format == TraceFormat::kAzure || format == TraceFormat::kBurstGpt || format == TraceFormat::kVidur;
}

struct Reader {
  std::istream& in;
  const std::string& name;
  const TraceOptions& options;
  Trace trace;
  std::string line;
  std::int64_t number = 0;

  bool next() {
    while (std::getline(in, line)) {
      ++number;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
      if (!line.empty()) return true;
    }
    return false;
  }
  std::unexpected<Error> wrong(const std::string& what) const {
    return failure(ErrorCode::kInvalidFile, name + ":" + std::to_string(number) + ": " + what);
  }
};

Result<void> read_csv(Reader& reader) {
  const auto format = reader.options.format ? reader.options.format : CsvRows::recognise(reader.line);
  if (!format) {
    return reader.wrong("neither a header of the azure, burstgpt or vidur traces nor a JSON object");
  }
  if (!is_csv(*format)) return reader.wrong("not a JSON object, as a trace of this format has");
  reader.trace.format = *format;
  const auto rows = CsvRows::create(*format, reader.line);
  if (!rows) return reader.wrong(rows.error());
  reader.trace.timed = rows->timed();
  while (reader.next()) {
    auto row = rows->read(reader.line);
    if (!row) return reader.wrong(row.error());
    if (*row) {
      reader.trace.rows.push_back(std::move(**row));
    } else {
      ++reader.trace.left_out;
    }
  }
  return {};
}

// Whether every row has as many hashes as blocks of this size.
bool blocks_are(const std::vector<TraceRow>& rows, std::int32_t tokens) {
  return std::ranges::all_of(rows, [&](const TraceRow& row) {
    const auto blocks = static_cast<std::int64_t>(row.blocks.size());
    return blocks == (row.input_tokens + tokens - 1) / tokens;
  });
}

// Mooncake's and vLLM's rows have the same keys; only the number of hashes tells them apart.
Result<TraceFormat> jsonl_format(const Reader& reader) {
  if (reader.options.format) return *reader.options.format;
  if (blocks_are(reader.trace.rows, 512)) return TraceFormat::kMooncake;
  if (blocks_are(reader.trace.rows, 16)) return TraceFormat::kTimedTrace;
  if (reader.options.time_unit_ns) return TraceFormat::kTimedTrace;
  return failure(ErrorCode::kInvalidArgument,
                 reader.name + ": its timestamps may be seconds or milliseconds; say which "
                 "format it has: mooncake (ms) or timed-trace (s)");
}

Result<void> settle_blocks(const Reader& reader, Trace& trace, std::int32_t usual) {
  const bool any = std::ranges::any_of(trace.rows, [](const TraceRow& row) { return !row.blocks.empty(); });
  if (!any) return {};
  trace.block_tokens = reader.options.block_tokens.value_or(usual);
  for (const TraceRow& row : trace.rows) {
    const auto covered = static_cast<std::int64_t>(row.blocks.size()) * trace.block_tokens;
    if (covered >= row.input_tokens + std::int64_t{trace.block_tokens}) {
      return failure(ErrorCode::kInvalidFile,
                     reader.name + ": a row of " + std::to_string(row.input_tokens) + " tokens has " +
                         std::to_string(row.blocks.size()) + " hashes of " +
                         std::to_string(trace.block_tokens) + " tokens");
    }
  }
  return {};
}

Result<void> read_jsonl(Reader& reader) {
  if (reader.options.format && is_csv(*reader.options.format)) {
    return reader.wrong("a JSON object, and a trace of this format is CSV");
  }
  std::vector<double> stamps;
  std::optional<bool> records;
  do {
    auto json = read_json_row(reader.line);
    if (!json) return reader.wrong(json.error());
    if (records && json->is_record != *records) return reader.wrong("it is of another kind than those before");
    records = json->is_record;
    if (!json->completed || json->row.input_tokens == 0 || json->row.output_tokens == 0) {
      ++reader.trace.left_out;
      continue;
    }
    stamps.push_back(json->stamp);
    reader.trace.rows.push_back(std::move(json->row));
  } while (reader.next());
  Trace& trace = reader.trace;
  if (*records) {
    trace.format = TraceFormat::kRecords;
    return {};
  }
  const auto format = jsonl_format(reader);
  if (!format) return std::unexpected(format.error());
  trace.format = *format;
  const bool mooncake = *format == TraceFormat::kMooncake;
  const std::int64_t unit = reader.options.time_unit_ns.value_or(mooncake ? 1'000'000 : 1'000'000'000);
  for (std::size_t at = 0; at < stamps.size(); ++at) {
    const double ns = stamps[at] * static_cast<double>(unit);
    if (ns > 4e18) {
      return failure(ErrorCode::kInvalidFile, reader.name + ": a timestamp is too large for its unit");
    }
    trace.rows[at].at_ns = std::llround(ns);
  }
  return settle_blocks(reader, trace, mooncake ? 512 : 16);
}

}  // namespace

const char* to_string(TraceFormat format) {
  switch (format) {
    case TraceFormat::kAzure: return "azure";
    case TraceFormat::kBurstGpt: return "burstgpt";
    case TraceFormat::kVidur: return "vidur";
    case TraceFormat::kMooncake: return "mooncake";
    case TraceFormat::kTimedTrace: return "timed-trace";
    case TraceFormat::kRecords: return "records";
  }
  return "?";
}

Result<TraceFormat> parse_trace_format(std::string_view name) {
  std::string names;
  for (const TraceFormat format : kFormats) {
    if (name == to_string(format)) return format;
    names += (names.empty() ? "" : ", ") + std::string(to_string(format));
  }
  return failure(ErrorCode::kInvalidArgument,
                 "no trace format '" + std::string(name) + "'; there are " + names);
}

double Trace::rate() const {
  if (rows.size() < 2 || rows.back().at_ns == 0) return 0;
  return static_cast<double>(rows.size()) * 1e9 / static_cast<double>(rows.back().at_ns);
}

Result<Trace> read_trace(const std::string& path, const TraceOptions& options) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return failure(ErrorCode::kNotFound, "cannot read the trace " + path);
  return read_trace(in, path, options);
}

Result<Trace> read_trace(std::istream& in, const std::string& name, const TraceOptions& options) {
  Reader reader{in, name, options, {}, {}, 0};
  if (!reader.next()) return failure(ErrorCode::kInvalidFile, name + ": the trace is empty");
  const auto read = reader.line.front() == '{' ? read_jsonl(reader) : read_csv(reader);
  if (!read) return std::unexpected(read.error());
  Trace& trace = reader.trace;
  if (trace.rows.empty()) return failure(ErrorCode::kInvalidFile, name + ": no request in it has an answer");
  std::ranges::stable_sort(trace.rows, {}, &TraceRow::at_ns);
  const std::int64_t first = trace.rows.front().at_ns;
  for (TraceRow& row : trace.rows) row.at_ns -= first;
  return std::move(trace);
}

}  // namespace paternoster::workload
