// Typed metadata with defaults and bounds, errors gathered: the first one stands, later reads give
// the default. Turns a page of early returns into a list of fields. Used by config.cc and
// tokenizer_metadata.cc.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "model/gguf.h"

namespace paternoster::model {

class MetadataReader {
 public:
  explicit MetadataReader(const GgufFile& file) : file_(file) {}

  const std::optional<Error>& error() const noexcept { return error_; }
  bool failed() const noexcept { return error_.has_value(); }

  void fail(ErrorCode code, std::string message) {
    if (!error_) error_ = Error{code, std::move(message)};
  }
  void fail_key(std::string_view key, std::string_view what,
                ErrorCode code = ErrorCode::kInvalidFile) {
    fail(code, "key " + quoted_name(key) + ": " + std::string(what));
  }

  // The value of a getter's Result, or nothing after keeping its error.
  template <typename T>
  std::optional<T> take(Result<std::optional<T>> result) {
    if (result) return std::move(*result);
    fail(result.error().code, std::move(result.error().message));
    return std::nullopt;
  }

  // An integer in [smallest, largest].
  std::optional<std::uint32_t> count(const std::string& key, std::uint32_t smallest,
                                     std::uint32_t largest) {
    const auto value = take(file_.u32(key));
    if (value && (*value < smallest || *value > largest)) {
      fail_key(key, std::to_string(*value) + " is not from " + std::to_string(smallest) + " to " +
                        std::to_string(largest));
      return std::nullopt;
    }
    return value;
  }
  std::uint32_t required_count(const std::string& key, std::uint32_t smallest,
                               std::uint32_t largest) {
    const auto value = count(key, smallest, largest);
    if (!value) fail_key(key, "is missing");
    return value.value_or(smallest);
  }

  // A finite float in [smallest, largest].
  std::optional<float> number(const std::string& key, float smallest, float largest) {
    const auto value = take(file_.f32(key));
    if (value && !(*value >= smallest && *value <= largest)) {
      fail_key(key, std::to_string(*value) + " is not a number from " + std::to_string(smallest) +
                        " to " + std::to_string(largest));
      return std::nullopt;
    }
    return value;
  }

  std::optional<bool> boolean(const std::string& key) { return take(file_.boolean(key)); }
  std::string_view string(const std::string& key) {
    return take(file_.string(key)).value_or(std::string_view());
  }

  const GgufFile& file() const noexcept { return file_; }

 private:
  const GgufFile& file_;
  std::optional<Error> error_;
};

}  // namespace paternoster::model
