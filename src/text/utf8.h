// UTF-8, read one character at a time, with ill-formed input named as Unicode recommends: each
// maximal part of an ill-formed sequence is one error, written as U+FFFD. Pure functions, callable
// by anyone.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace paternoster::text {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

struct Utf8Step {
  enum class Kind {
    kCharacter,   // `length` bytes are one character
    kIllFormed,   // `length` bytes can never become one
    kUnfinished,  // the text ends inside what may still become a character
  };
  Kind kind;
  std::size_t length;  // at least 1
};

// What stands at the start of `text`, which is not empty.
Utf8Step utf8_step(std::string_view text) noexcept;

// Offset of the first byte that is not part of a character; text.size() if all is well-formed.
std::size_t utf8_valid_prefix(std::string_view text) noexcept;

// `text` with one U+FFFD for each ill-formed or unfinished part.
std::string repair_utf8(std::string_view text);

// The code point of a character of exactly `character.size()` bytes, well-formed.
char32_t utf8_code_point(std::string_view character) noexcept;

// Appends a code point that is no surrogate.
void append_utf8(std::string& out, char32_t code_point);

}  // namespace paternoster::text
