#include <boost/json.hpp>

#include "measure/json_number.h"
#include "measure/summary_json.h"
#include "workload/lengths.h"
#include "workload/trace_rows.h"

namespace paternoster::workload {
namespace {

using measure::number_of;

bool read_member(const boost::json::object& object, const char* name, std::int32_t& tokens) {
  const auto number = number_of(object, name);
  if (!number || *number < 0 || *number > kMostTokens) return false;
  tokens = static_cast<std::int32_t>(*number);
  return tokens == *number;
}

bool read_blocks(const boost::json::object& object, std::vector<std::uint64_t>& blocks) {
  const auto* value = object.if_contains("hash_ids");
  if (value == nullptr) return true;
  if (!value->is_array()) return false;
  for (const auto& id : value->get_array()) {
    if (id.is_int64()) {
      blocks.push_back(static_cast<std::uint64_t>(id.get_int64()));
    } else if (id.is_uint64()) {
      blocks.push_back(id.get_uint64());
    } else {
      return false;
    }
  }
  return true;
}

std::expected<JsonRow, RowError> row_of_record(std::string_view line) {
  auto record = measure::parse_record(line);
  if (!record) return std::unexpected(record.error().message);
  JsonRow json;
  json.is_record = true;
  json.completed = record->completed();
  json.row.at_ns = record->scheduled_ns;
  json.row.input_tokens = record->input_tokens;
  json.row.output_tokens = record->output_tokens;
  if (json.row.input_tokens < 0 || json.row.output_tokens < 0 || json.row.input_tokens > kMostTokens ||
      json.row.output_tokens > kMostTokens || json.row.at_ns < 0 ||
      json.row.at_ns > 4'000'000'000'000'000'000) {
    return std::unexpected("its lengths or times are out of range");
  }
  json.row.class_name = std::move(record->class_name);
  json.row.tenant = std::move(record->tenant);
  return json;
}

}  // namespace

std::expected<JsonRow, RowError> read_json_row(std::string_view line) {
  boost::system::error_code error;
  const auto value = boost::json::parse(line, error);
  if (error) return std::unexpected("it is not JSON: " + error.message());
  if (!value.is_object()) return std::unexpected("it is no JSON object");
  const boost::json::object& object = value.get_object();
  if (object.contains("scheduled_ns")) return row_of_record(line);
  JsonRow json;
  const auto stamp = number_of(object, "timestamp");
  if (!stamp || *stamp < 0 || *stamp > 9e12) return std::unexpected("\"timestamp\" must be a number from 0");
  json.stamp = *stamp;
  if (!read_member(object, "input_length", json.row.input_tokens)) {
    return std::unexpected("\"input_length\" must be a whole number of tokens");
  }
  if (!read_member(object, "output_length", json.row.output_tokens)) {
    return std::unexpected("\"output_length\" must be a whole number of tokens");
  }
  if (!read_blocks(object, json.row.blocks)) {
    return std::unexpected("\"hash_ids\" must be a list of whole numbers");
  }
  return json;
}

}  // namespace paternoster::workload
