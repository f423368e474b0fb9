#include <charconv>
#include <chrono>
#include <cmath>

#include "workload/lengths.h"
#include "workload/trace_rows.h"

namespace paternoster::workload {
namespace {

struct Columns {
  TraceFormat format;
  std::string_view time;
  std::string_view input;
  std::string_view output;
};
constexpr Columns kColumns[] = {
    {TraceFormat::kAzure, "TIMESTAMP", "ContextTokens", "GeneratedTokens"},
    {TraceFormat::kBurstGpt, "Timestamp", "Request tokens", "Response tokens"},
    {TraceFormat::kVidur, "arrived_at", "num_prefill_tokens", "num_decode_tokens"},
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '"')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '"' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

std::size_t find_column(const std::vector<std::string_view>& header, std::string_view name) {
  for (std::size_t at = 0; at < header.size(); ++at) {
    if (header[at] == name) return at;
  }
  return static_cast<std::size_t>(-1);
}

template <typename T>
bool read_all(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::unexpected<RowError> bad_cell(std::string_view text, std::string_view what) {
  return std::unexpected("'" + std::string(text.substr(0, 80)) + "' is not " + std::string(what));
}

// Tokens are whole numbers, though some files write 12.0.
bool read_cell(std::string_view text, std::int32_t& tokens) {
  double value = 0;
  if (!read_all(text, value) || value != std::floor(value) || value < 0 || value > kMostTokens) return false;
  tokens = static_cast<std::int32_t>(value);
  return true;
}

bool read_digits(std::string_view& text, std::size_t count, int& value) {
  if (text.size() < count || !read_all(text.substr(0, count), value) || value < 0) return false;
  text.remove_prefix(count);
  return true;
}

bool skip(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// ".97996", to nanoseconds.
bool read_fraction(std::string_view& text, std::int64_t& ns) {
  ns = 0;
  if (!skip(text, ".")) return true;
  std::int64_t unit = 100'000'000;
  bool any = false;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1)) {
    ns += (text.front() - '0') * unit;
    unit /= 10;
    any = true;
  }
  return any;
}

// "", "Z", "+00:00": nanoseconds east of Greenwich.
bool read_zone(std::string_view text, std::int64_t& ns) {
  ns = 0;
  if (text.empty() || text == "Z") return true;
  const int sign = text.front() == '-' ? -1 : 1;
  int hours = 0;
  int minutes = 0;
  if (!skip(text, "+-") || !read_digits(text, 2, hours) || !skip(text, ":") ||
      !read_digits(text, 2, minutes) || !text.empty()) {
    return false;
  }
  ns = sign * (hours * 60 + minutes) * 60'000'000'000;
  return true;
}

}  // namespace

std::vector<std::string_view> split_csv(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

std::optional<std::int64_t> parse_timestamp(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  std::int64_t fraction = 0;
  std::int64_t zone = 0;
  if (!read_digits(text, 4, year) || !skip(text, "-") || !read_digits(text, 2, month) ||
      !skip(text, "-") || !read_digits(text, 2, day) || !skip(text, " T") ||
      !read_digits(text, 2, hour) || !skip(text, ":") || !read_digits(text, 2, minute) ||
      !skip(text, ":") || !read_digits(text, 2, second) || !read_fraction(text, fraction) ||
      !read_zone(text, zone)) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  // Nanoseconds since 1970 fit for these years.
  if (!date.ok() || year < 1970 || year > 2200 || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
  return seconds * 1'000'000'000 + fraction - zone;
}

std::optional<TraceFormat> CsvRows::recognise(std::string_view header) {
  const auto names = split_csv(header);
  for (const Columns& one : kColumns) {
    if (find_column(names, one.input) != kNone && find_column(names, one.output) != kNone) return one.format;
  }
  return std::nullopt;
}

std::expected<CsvRows, RowError> CsvRows::create(TraceFormat format, std::string_view header) {
  const auto names = split_csv(header);
  CsvRows rows;
  rows.format_ = format;
  rows.columns_ = names.size();
  for (const Columns& one : kColumns) {
    if (one.format != format) continue;
    rows.time_ = find_column(names, one.time);
    rows.input_ = find_column(names, one.input);
    rows.output_ = find_column(names, one.output);
    for (const auto& [at, name] : {std::pair(rows.time_, one.time), std::pair(rows.input_, one.input),
                                   std::pair(rows.output_, one.output)}) {
      if (at != kNone || (format == TraceFormat::kVidur && name == one.time)) continue;
      return std::unexpected("there is no column '" + std::string(name) + "'");
    }
  }
  return rows;
}

std::expected<std::optional<TraceRow>, RowError> CsvRows::read(std::string_view line) const {
  const auto fields = split_csv(line);
  if (fields.size() != columns_) {
    return std::unexpected("it has " + std::to_string(fields.size()) + " fields and the header " +
                           std::to_string(columns_));
  }
  TraceRow row;
  if (!read_cell(fields[input_], row.input_tokens)) return bad_cell(fields[input_], "a number of tokens");
  if (!read_cell(fields[output_], row.output_tokens)) return bad_cell(fields[output_], "a number of tokens");
  if (format_ == TraceFormat::kAzure) {
    const auto at = parse_timestamp(fields[time_]);
    if (!at) return bad_cell(fields[time_], "a time like 2023-11-16 18:17:03.97");
    row.at_ns = *at;
  } else if (timed()) {
    double seconds = 0;
    if (!read_all(fields[time_], seconds) || !(seconds >= 0 && seconds < 9e9)) {
      return bad_cell(fields[time_], "a time in seconds");
    }
    row.at_ns = std::llround(seconds * 1e9);
  }
  if (row.input_tokens == 0 || row.output_tokens == 0) return std::nullopt;
  return row;
}

}  // namespace paternoster::workload
