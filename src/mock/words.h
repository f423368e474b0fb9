// The mock's language: a token is a word. A whole number below kVocabulary is that token, any other
// word a fixed one of its letters; token n is written " n". An answer counts on from the last token of
// the prompt, so whoever continues it (in a slice, elsewhere) gets the same answer. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/generation.h"

namespace paternoster::mock {

inline constexpr TokenId kVocabulary = 100'000;

std::vector<TokenId> tokens_of(std::string_view text);
// A conversation's roles are tokens too: one a message.
std::vector<TokenId> tokens_of(const api::Prompt& prompt);
std::string text_of(TokenId token);
TokenId next_token(TokenId last);

}  // namespace paternoster::mock
