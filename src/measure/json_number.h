// A number of a parsed JSON object, for the readers of request logs and traces.
#pragma once

#include <boost/json.hpp>
#include <cmath>
#include <optional>

namespace paternoster::measure {

// None: it is not there, no number, or too large to be a time or a count.
inline std::optional<double> number_of(const boost::json::object& object, const char* name) {
  const auto* value = object.if_contains(name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  boost::system::error_code error;
  const double number = value->to_number<double>(error);
  return error || !(std::abs(number) < 1e15) ? std::nullopt : std::optional(number);
}

}  // namespace paternoster::measure
