#include "mock/words.h"

#include <charconv>

namespace paternoster::mock {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

TokenId token_of(std::string_view word) {
  std::uint32_t number = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (failed == std::errc() && end == word.data() + word.size() && number < kVocabulary) {
    return static_cast<TokenId>(number);
  }
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return static_cast<TokenId>(hash % kVocabulary);
}

}  // namespace

std::vector<TokenId> tokens_of(std::string_view text) {
  std::vector<TokenId> tokens;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kSpaces);
    if (begin == std::string_view::npos) return tokens;
    text.remove_prefix(begin);
    const std::size_t length = std::min(text.find_first_of(kSpaces), text.size());
    tokens.push_back(token_of(text.substr(0, length)));
    text.remove_prefix(length);
  }
}

std::vector<TokenId> tokens_of(const api::Prompt& prompt) {
  if (const auto* given = std::get_if<api::TokenPrompt>(&prompt)) return given->tokens;
  if (const auto* text = std::get_if<api::TextPrompt>(&prompt)) return tokens_of(text->text);
  std::vector<TokenId> tokens;
  for (const api::Message& message : std::get<api::ChatPrompt>(prompt).messages) {
    tokens.push_back(token_of(message.role));
    const std::vector<TokenId> content = tokens_of(message.content);
    tokens.insert(tokens.end(), content.begin(), content.end());
  }
  return tokens;
}

std::string text_of(TokenId token) { return " " + std::to_string(token); }

TokenId next_token(TokenId last) { return (last + 1) % kVocabulary; }

}  // namespace paternoster::mock
