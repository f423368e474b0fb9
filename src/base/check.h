// PATERNOSTER_CHECK(condition): states an invariant of our own code and stays on in release builds.
// Never for input: what a client, a file or a peer sends is answered with a Result (base/result.h).
#pragma once

namespace paternoster {

// Writes "file:line: check failed: condition" to standard error and aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace paternoster

#define PATERNOSTER_CHECK(condition) \
  ((condition) ? static_cast<void>(0) \
               : ::paternoster::check_failed(#condition, __FILE__, __LINE__))
