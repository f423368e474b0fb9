// Reads the fields of one JSON object strictly: wrong types and values outside their range become one
// error that names the field; null means not given. The first error wins and later reads do nothing.
//
// Only the request parsers include this: it is the one place, with them, where Boost.JSON shows.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/error.h"
#include "base/ids.h"

namespace paternoster::api {

// A whole body. Depth is bounded; bytes that are not UTF-8 are refused.
ApiResult<boost::json::object> parse_object(std::string_view body);

class FieldReader {
 public:
  // `prefix` goes before the names in errors: "stream_options.".
  explicit FieldReader(const boost::json::object& object, std::string prefix = "")
      : object_(object), prefix_(std::move(prefix)) {}

  // The field's value, or null if it is absent or null. Makes the name known.
  const boost::json::value* find(std::string_view name);

  bool read(std::string_view name, bool& value);
  bool read(std::string_view name, std::string& value);
  bool read(std::string_view name, std::int64_t low, std::int64_t high, std::int64_t& value);
  bool read(std::string_view name, std::int64_t low, std::int64_t high, std::int32_t& value);
  bool read(std::string_view name, double low, double high, double& value);
  // A list of token ids with at most `most` members.
  bool read(std::string_view name, std::size_t most, std::vector<TokenId>& value);
  const boost::json::object* read_object(std::string_view name);

  // Names that are fine to be sent, and have no effect here.
  void ignore(std::initializer_list<std::string_view> names);
  // Names that change what is generated, but not here: refused unless null, false, empty or zero.
  void refuse(std::initializer_list<std::string_view> names);

  void fail(ApiError error);
  void fail_value(std::string_view name, std::string_view what);
  bool failed() const { return error_.has_value(); }
  ApiError take_error() { return std::move(*error_); }

  // Members nobody has asked for.
  std::uint32_t unknown() const;

 private:
  const boost::json::object& object_;
  std::string prefix_;
  std::set<std::string_view> known_;
  std::optional<ApiError> error_;
};

// An integer, also when it is written like 16.0.
std::optional<std::int64_t> as_integer(const boost::json::value& value);
std::optional<double> as_number(const boost::json::value& value);
// A list of token ids; none if any member is not one.
std::optional<std::vector<TokenId>> as_tokens(const boost::json::array& array);

}  // namespace paternoster::api
