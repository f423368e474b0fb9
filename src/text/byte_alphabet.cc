#include "text/byte_alphabet.h"

#include <array>

#include "text/utf8.h"

namespace paternoster::text {
namespace {

constexpr char32_t kAlphabetEnd = 0x144;  // one past the last character of the alphabet

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<std::string, 256> spelling;
  std::array<short, kAlphabetEnd> byte;

  Alphabet() {
    byte.fill(-1);
    char32_t next = 0x100;
    for (unsigned value = 0; value < 256; ++value) {
      const char32_t character = stands_for_itself(value) ? value : next++;
      append_utf8(spelling[value], character);
      byte[character] = static_cast<short>(value);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

}  // namespace

std::string_view spelling_of_byte(unsigned char byte) { return alphabet().spelling[byte]; }

std::optional<std::string> bytes_of_spelling(std::string_view piece) {
  const Alphabet& letters = alphabet();
  std::string out;
  out.reserve(piece.size());
  while (!piece.empty()) {
    const Utf8Step step = utf8_step(piece);
    if (step.kind != Utf8Step::Kind::kCharacter) return std::nullopt;
    const char32_t character = utf8_code_point(piece.substr(0, step.length));
    if (character >= kAlphabetEnd || letters.byte[character] < 0) return std::nullopt;
    out.push_back(static_cast<char>(letters.byte[character]));
    piece.remove_prefix(step.length);
  }
  return out;
}

}  // namespace paternoster::text
