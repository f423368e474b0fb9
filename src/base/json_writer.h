// JSON out, by appending to a string: no tree, no allocation of its own, numbers by std::to_chars.
//
// Whatever bytes a string holds, what is written is valid JSON in UTF-8: bytes that are not part of a
// character become U+FFFD.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace paternoster {

// Writes `text` with its quotes.
void append_string(std::string& out, std::string_view text);
void append_integer(std::string& out, std::int64_t value);
// Shortest form that reads back equal. JSON has no infinities: they become +-9999, NaN becomes null.
void append_number(std::string& out, double value);
// As above, but for a float's shortest form.
void append_number(std::string& out, float value);

// The length of the character at the start of `text`, or 0 if none is well formed there. `text` must
// not be empty.
std::size_t character_length(std::string_view text);
bool is_utf8(std::string_view text);

// An object being written: puts the commas. `JsonObject(out).field("a", 1).end()`.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }

  // Writes the key; the value is to be appended next.
  std::string& key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += '"';
    out_ += name;  // keys are our own words
    out_ += "\":";
    return out_;
  }
  JsonObject& field(std::string_view name, std::string_view value) {
    append_string(key(name), value);
    return *this;
  }
  JsonObject& field(std::string_view name, const char* value) {
    return field(name, std::string_view(value));
  }
  JsonObject& field(std::string_view name, const std::string& value) {
    return field(name, std::string_view(value));
  }
  JsonObject& field(std::string_view name, std::integral auto value) {
    if constexpr (std::same_as<decltype(value), bool>) {
      key(name) += value ? "true" : "false";
    } else {
      append_integer(key(name), static_cast<std::int64_t>(value));
    }
    return *this;
  }
  JsonObject& field(std::string_view name, std::floating_point auto value) {
    append_number(key(name), value);
    return *this;
  }
  JsonObject& null(std::string_view name) {
    key(name) += "null";
    return *this;
  }
  void end() { out_ += '}'; }

 private:
  std::string& out_;
  bool first_ = true;
};

}  // namespace paternoster
