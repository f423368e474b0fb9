// Flags that take a time like 50ms, 0.5s or 2m and keep it in nanoseconds. For the files of cli/ alone.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "base/duration.h"

namespace paternoster::cli {

// `To`: std::int64_t, or an optional of it. What cannot be read is CLI11's error, which names the flag.
template <typename To>
CLI::Option* add_duration(CLI::App& app, const std::string& flag, To& to_ns, const std::string& help,
                          bool above_zero = false) {
  return app.add_option_function<std::string>(
      flag,
      [flag, above_zero, &to_ns](const std::string& text) {
        const auto duration = parse_duration(text);
        if (!duration) throw CLI::ValidationError(flag, duration.error().message);
        if (above_zero && *duration <= 0) throw CLI::ValidationError(flag, "must be above 0");
        to_ns = *duration;
      },
      help);
}

}  // namespace paternoster::cli
