// The alphabet of byte-level BPE: vocabularies spell each byte as one printable character.
//
// Bytes that are printable in Latin-1 stand for themselves, the other 68 for U+0100 and up in
// order. Pure functions; used when a vocabulary is loaded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace paternoster::text {

// The character (UTF-8) that spells `byte`.
std::string_view spelling_of_byte(unsigned char byte);

// The bytes that `piece` spells; nothing if some character is not of the alphabet.
std::optional<std::string> bytes_of_spelling(std::string_view piece);

}  // namespace paternoster::text
