// Which random stream (random_stream.h) each part of a workload draws from.
#pragma once

#include <cstdint>

namespace paternoster::workload::streams {

inline constexpr std::uint64_t kArrivals = 1;
inline constexpr std::uint64_t kInputs = 2;
inline constexpr std::uint64_t kOutputs = 3;
inline constexpr std::uint64_t kClasses = 4;
inline constexpr std::uint64_t kTenants = 5;
inline constexpr std::uint64_t kPrefixes = 6;
inline constexpr std::uint64_t kTokens = 7;
inline constexpr std::uint64_t kGuesses = 8;

}  // namespace paternoster::workload::streams
