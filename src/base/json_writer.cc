#include "base/json_writer.h"

#include <charconv>
#include <cmath>

namespace paternoster {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr double kInfinity = 9999.0;

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

void append_escape(std::string& out, unsigned char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  switch (byte) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  out += "\\u00";
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

template <typename T>
void append_float(std::string& out, T value) {
  if (std::isnan(value)) {
    out += "null";
    return;
  }
  if (std::isinf(value)) value = static_cast<T>(value > 0 ? kInfinity : -kInfinity);
  char buffer[40];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
  // A whole number keeps its point, so that readers take it for what it is.
  const std::string_view written(buffer, static_cast<std::size_t>(end - buffer));
  if (written.find_first_of(".e") == std::string_view::npos) out += ".0";
}

}  // namespace

std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool too_large = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t plain = 0;  // start of what can be copied as it is
  std::size_t i = 0;
  while (i < text.size()) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool escaped = byte < 0x20 || byte == '"' || byte == '\\';
    const std::size_t length = escaped ? 1 : character_length(text.substr(i));
    if (!escaped && length > 0) {
      i += length;
      continue;
    }
    out.append(text, plain, i - plain);
    if (escaped) {
      append_escape(out, byte);
    } else {
      out += kReplacement;
    }
    plain = ++i;
  }
  out.append(text, plain);
  out += '"';
}

void append_integer(std::string& out, std::int64_t value) {
  char buffer[24];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
}

void append_number(std::string& out, double value) { append_float(out, value); }
void append_number(std::string& out, float value) { append_float(out, value); }

}  // namespace paternoster
