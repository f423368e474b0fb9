#include "api/field_reader.h"

#include <boost/json/parse.hpp>
#include <cmath>
#include <limits>

namespace paternoster::api {

namespace json = boost::json;

namespace {

constexpr std::size_t kDepth = 32;

std::string range_words(std::string low, std::string high) {
  return "must be between " + low + " and " + high;
}

std::string short_number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

bool is_neutral(const json::value& value) {
  if (value.is_bool()) return !value.get_bool();
  if (value.is_string()) return value.get_string().empty();
  if (value.is_array()) return value.get_array().empty();
  if (value.is_object()) return value.get_object().empty();
  return as_number(value) == 0.0;
}

}  // namespace

ApiResult<json::object> parse_object(std::string_view body) {
  json::parse_options options;
  options.max_depth = kDepth;
  json::error_code failure;
  json::value value = json::parse(json::string_view(body.data(), body.size()), failure, {}, options);
  if (failure) {
    return std::unexpected(invalid_json("The body is not valid JSON: " + failure.message() + "."));
  }
  if (!value.is_object()) {
    return std::unexpected(invalid_json("The body must be a JSON object."));
  }
  return std::move(value.get_object());
}

std::optional<std::int64_t> as_integer(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  if (!value.is_double()) return {};  // an unsigned one would not fit
  const double number = value.get_double();
  constexpr double kExact = 9007199254740992.0;
  if (std::abs(number) > kExact || number != std::trunc(number)) return {};
  return static_cast<std::int64_t>(number);
}

std::optional<double> as_number(const json::value& value) {
  if (value.is_double()) return value.get_double();
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  return {};
}

std::optional<std::vector<TokenId>> as_tokens(const json::array& array) {
  std::vector<TokenId> tokens;
  tokens.reserve(array.size());
  for (const json::value& member : array) {
    const auto token = as_integer(member);
    if (!token || *token < 0 || *token > std::numeric_limits<TokenId>::max()) return {};
    tokens.push_back(static_cast<TokenId>(*token));
  }
  return tokens;
}

const json::value* FieldReader::find(std::string_view name) {
  known_.insert(name);
  const json::value* value = object_.if_contains(json::string_view(name.data(), name.size()));
  return failed() || value == nullptr || value->is_null() ? nullptr : value;
}

bool FieldReader::read(std::string_view name, bool& value) {
  const json::value* found = find(name);
  if (found == nullptr) return false;
  if (!found->is_bool()) {
    fail_value(name, "must be true or false");
    return false;
  }
  value = found->get_bool();
  return true;
}

bool FieldReader::read(std::string_view name, std::string& value) {
  const json::value* found = find(name);
  if (found == nullptr) return false;
  if (!found->is_string()) {
    fail_value(name, "must be a string");
    return false;
  }
  value.assign(found->get_string().data(), found->get_string().size());
  return true;
}

bool FieldReader::read(std::string_view name, std::int64_t low, std::int64_t high,
                       std::int64_t& value) {
  const json::value* found = find(name);
  if (found == nullptr) return false;
  const auto number = as_integer(*found);
  if (!number) {
    fail_value(name, "must be an integer");
    return false;
  }
  if (*number < low || *number > high) {
    fail_value(name, range_words(std::to_string(low), std::to_string(high)));
    return false;
  }
  value = *number;
  return true;
}

bool FieldReader::read(std::string_view name, std::int64_t low, std::int64_t high,
                       std::int32_t& value) {
  std::int64_t wide = 0;
  if (!read(name, low, high, wide)) return false;
  value = static_cast<std::int32_t>(wide);
  return true;
}

bool FieldReader::read(std::string_view name, double low, double high, double& value) {
  const json::value* found = find(name);
  if (found == nullptr) return false;
  const auto number = as_number(*found);
  if (!number) {
    fail_value(name, "must be a number");
    return false;
  }
  if (!(*number >= low && *number <= high)) {
    fail_value(name, range_words(short_number(low), short_number(high)));
    return false;
  }
  value = *number;
  return true;
}

bool FieldReader::read(std::string_view name, std::size_t most, std::vector<TokenId>& value) {
  const json::value* found = find(name);
  if (found == nullptr) return false;
  const auto tokens = found->is_array() ? as_tokens(found->get_array()) : std::nullopt;
  if (!tokens || tokens->size() > most) {
    fail_value(name, "must be a list of at most " + std::to_string(most) + " token ids");
    return false;
  }
  value = *tokens;
  return true;
}

const json::object* FieldReader::read_object(std::string_view name) {
  const json::value* found = find(name);
  if (found == nullptr) return nullptr;
  if (!found->is_object()) {
    fail_value(name, "must be an object");
    return nullptr;
  }
  return &found->get_object();
}

void FieldReader::ignore(std::initializer_list<std::string_view> names) { known_.insert(names); }

void FieldReader::refuse(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const json::value* found = find(name);
    if (found == nullptr || is_neutral(*found)) continue;
    fail(unsupported_parameter(prefix_ + std::string(name),
                               "`" + prefix_ + std::string(name) + "` is not supported."));
  }
}

void FieldReader::fail(ApiError error) {
  if (!error_) error_ = std::move(error);
}

void FieldReader::fail_value(std::string_view name, std::string_view what) {
  const std::string full = prefix_ + std::string(name);
  fail(invalid_value(full, "`" + full + "` " + std::string(what) + "."));
}

std::uint32_t FieldReader::unknown() const {
  std::uint32_t count = 0;
  for (const auto& member : object_) {
    const std::string_view name(member.key().data(), member.key().size());
    count += known_.contains(name) ? 0 : 1;
  }
  return count;
}

}  // namespace paternoster::api
