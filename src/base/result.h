// Result<T>: a value, or one line that tells a person what was wrong, where, and what to do.
//
// Three kinds of failure (docs/decisions/0003-errors.md): what can be expected is a Result with a code
// that some caller reacts to; a bug of ours is a PATERNOSTER_CHECK (base/check.h); nothing that a
// client, a file or a peer sends may end the process.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace paternoster {

enum class ErrorCode {
  kInvalidArgument,  // the caller gave something that can never work
  kInvalidFile,      // a file's bytes are not what they claim to be
  kNotFound,
  kUnsupported,      // understood, but not built
  kResourceExhausted,
  kUnavailable,      // now, but perhaps not later
  kInternal,
};

struct Error {
  ErrorCode code;
  std::string message;
};

template <typename T>
using Result = std::expected<T, Error>;

// The unexpected half of a Result: return failure(ErrorCode::kInvalidFile, "...");
inline std::unexpected<Error> failure(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}

}  // namespace paternoster
