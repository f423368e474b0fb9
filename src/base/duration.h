// Durations as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paternoster {

// "1s", "80ms", "1.5s", "250us", "2m", "1h": nanoseconds. Never negative.
Result<std::int64_t> parse_duration(std::string_view text);
// The shortest such text in ns, us, ms or s, to three digits.
std::string duration_text(double ns);

}  // namespace paternoster
