// The row readers behind trace.h, one line at a time. Internal to workload/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/trace.h"

namespace paternoster::workload {

// What is wrong with a line, without its number.
using RowError = std::string;

// CSV: made from the header, then asked for each line.
class CsvRows {
 public:
  // The format that the header belongs to, if any.
  static std::optional<TraceFormat> recognise(std::string_view header);

  // The error says which column is missing.
  static std::expected<CsvRows, RowError> create(TraceFormat format, std::string_view header);

  bool timed() const { return time_ != kNone; }
  // Nothing: the row is to be left out.
  std::expected<std::optional<TraceRow>, RowError> read(std::string_view line) const;

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  TraceFormat format_ = TraceFormat::kAzure;
  std::size_t columns_ = 0;
  std::size_t time_ = kNone;
  std::size_t input_ = kNone;
  std::size_t output_ = kNone;
};

// JSONL. `stamp` is the row's timestamp as it stands in the file, in its own unit.
struct JsonRow {
  TraceRow row;
  double stamp = 0;
  bool is_record = false;  // then row.at_ns is set already
  bool completed = true;
};
std::expected<JsonRow, RowError> read_json_row(std::string_view line);

std::vector<std::string_view> split_csv(std::string_view line);

// "2023-11-16 18:17:03.9799600", with or without a zone: nanoseconds since 1970.
std::optional<std::int64_t> parse_timestamp(std::string_view text);

}  // namespace paternoster::workload
