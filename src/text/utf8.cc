#include "text/utf8.h"

#include <cstdint>
#include <cstring>

namespace paternoster::text {
namespace {

struct Lead {
  std::size_t length;          // of the whole character; 0: not a lead byte
  unsigned char second_first;  // the second byte's range; later ones are always 80..BF
  unsigned char second_last;
};

// Table 3-7 of the Unicode standard. The narrowed second bytes keep out overlong forms, surrogates
// and what lies above U+10FFFF.
Lead lead_of(unsigned char byte) noexcept {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

Utf8Step utf8_step(std::string_view text) noexcept {
  const Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  if (lead.length == 0) return {Utf8Step::Kind::kIllFormed, 1};
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (i == text.size()) return {Utf8Step::Kind::kUnfinished, i};
    const auto byte = static_cast<unsigned char>(text[i]);
    const unsigned char first = i == 1 ? lead.second_first : 0x80;
    const unsigned char last = i == 1 ? lead.second_last : 0xBF;
    if (byte < first || byte > last) return {Utf8Step::Kind::kIllFormed, i};
  }
  return {Utf8Step::Kind::kCharacter, lead.length};
}

std::size_t utf8_valid_prefix(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t eight = 0;
    if (at + sizeof eight <= text.size()) {  // most text is ASCII: eight bytes at once
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080u) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const Utf8Step step = utf8_step(text.substr(at, 4));
    if (step.kind != Utf8Step::Kind::kCharacter) return at;
    at += step.length;
  }
  return at;
}

std::string repair_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t valid = utf8_valid_prefix(text);
    out.append(text.substr(0, valid));
    text.remove_prefix(valid);
    if (text.empty()) break;
    out.append(kReplacementCharacter);
    text.remove_prefix(utf8_step(text).length);
  }
  return out;
}

char32_t utf8_code_point(std::string_view character) noexcept {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(character[i]));
  };
  switch (character.size()) {
    case 1:
      return byte(0);
    case 2:
      return ((byte(0) & 0x1F) << 6) | (byte(1) & 0x3F);
    case 3:
      return ((byte(0) & 0x0F) << 12) | ((byte(1) & 0x3F) << 6) | (byte(2) & 0x3F);
    default:
      return ((byte(0) & 0x07) << 18) | ((byte(1) & 0x3F) << 12) | ((byte(2) & 0x3F) << 6) |
             (byte(3) & 0x3F);
  }
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&](char32_t value) { out.push_back(static_cast<char>(value)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

}  // namespace paternoster::text
