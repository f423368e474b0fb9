#include "base/duration.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace paternoster {

Result<std::int64_t> parse_duration(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  struct Unit {
    std::string_view name;
    double ns;
  };
  constexpr std::array<Unit, 6> kUnits = {
      {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}};
  for (const Unit& one : kUnits) {
    if (error != std::errc() || unit != one.name) continue;
    const double ns = number * one.ns;
    if (!(ns >= 0 && ns < 9e18)) break;
    return static_cast<std::int64_t>(std::llround(ns));
  }
  return failure(ErrorCode::kInvalidArgument,
                 "'" + std::string(text) + "' is not a duration like 80ms, 1.5s or 10m");
}

std::string duration_text(double ns) {
  const char* unit = "s";
  double value = ns / 1e9;
  if (ns < 1e3) {
    unit = "ns";
    value = ns;
  } else if (ns < 1e6) {
    unit = "us";
    value = ns / 1e3;
  } else if (ns < 1e9) {
    unit = "ms";
    value = ns / 1e6;
  }
  char buffer[48];
  if (value >= 1000) {
    std::snprintf(buffer, sizeof buffer, "%.0f%s", value, unit);
  } else {
    std::snprintf(buffer, sizeof buffer, "%.3g%s", value, unit);
  }
  return buffer;
}

}  // namespace paternoster
