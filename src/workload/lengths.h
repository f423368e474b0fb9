// How many tokens: distributions of prompt and output lengths, as a person writes them.
//
//   fixed:512   uniform:128-1024   exponential:MEAN[:CAP]   lognormal:MEDIAN:SIGMA[:CAP]
//   empirical:FILE   one length a line; the file is read at once
//
// Every draw is at least 1. A cap is kept by drawing again, as the Anyscale benchmark did, so the mean
// falls below the one that is written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/random_stream.h"

namespace paternoster::workload {

struct Lengths {
  enum class Kind : std::uint8_t { kFixed, kUniform, kExponential, kLogNormal, kEmpirical };
  Kind kind = Kind::kFixed;
  double first = 1;   // the length, the least, the mean, the median
  double second = 0;  // the most, sigma
  std::int32_t cap = 0;  // 0: none
  std::vector<std::int32_t> values;  // empirical

  std::int32_t draw(RandomStream& random) const;
};

inline constexpr std::int32_t kMostTokens = 1 << 24;

Result<Lengths> parse_lengths(std::string_view text);

}  // namespace paternoster::workload
