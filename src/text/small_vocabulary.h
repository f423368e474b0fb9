// Two small vocabularies for tests, fuzzers and benchmarks, one of each kind. Not for the product.
//
// SmallVocabulary owns the strings that its Vocabulary views.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "text/byte_alphabet.h"
#include "text/vocabulary.h"

namespace paternoster::text {

struct SmallVocabulary {
  std::deque<std::string> strings;
  Vocabulary vocabulary;

  TokenId add(std::string_view token, TokenKind kind, float score = 0) {
    vocabulary.tokens.push_back(strings.emplace_back(token));
    vocabulary.kinds.push_back(kind);
    vocabulary.scores.push_back(score);
    return static_cast<TokenId>(vocabulary.tokens.size() - 1);
  }

  void merge(std::string_view left, std::string_view right) {
    add(std::string(left) + std::string(right), TokenKind::kNormal);
    vocabulary.merges.push_back(
        strings.emplace_back(std::string(left) + " " + std::string(right)));
  }
};

// Byte-level, rule `pre`: "<|im_start|>" 0 (BOS), "<|im_end|>" 1 (EOS), user-defined "<think>" 2,
// byte b at 3 + b, then "he" "ll" "hell" "hello" "Ġw" "Ġhello".
inline SmallVocabulary small_byte_level(std::string_view pre = "smollm") {
  SmallVocabulary small;
  small.vocabulary.model = "gpt2";
  small.vocabulary.pre = pre;
  small.vocabulary.bos = small.add("<|im_start|>", TokenKind::kControl);
  small.vocabulary.eos = small.add("<|im_end|>", TokenKind::kControl);
  small.add("<think>", TokenKind::kUserDefined);
  for (int byte = 0; byte < 256; ++byte) {
    small.add(spelling_of_byte(static_cast<unsigned char>(byte)), TokenKind::kNormal);
  }
  small.merge("h", "e");
  small.merge("l", "l");
  small.merge("he", "ll");
  small.merge("hell", "o");
  small.merge("Ġ", "w");
  small.merge("Ġ", "hello");
  small.vocabulary.add_bos = false;
  return small;
}

// SentencePiece: "<unk>" 0, "<bos>" 1, "<eos>" 2, byte b at 3 + b, user-defined "<b>" 259 and two
// spaces 260, then "a" 261 "b" 262 "▁" 263 "ab" 264 "▁ab" 265 "ba" 266 "é" 267.
inline SmallVocabulary small_sentencepiece() {
  SmallVocabulary small;
  small.vocabulary.model = "llama";
  small.vocabulary.unknown = small.add("<unk>", TokenKind::kUnknown);
  small.vocabulary.bos = small.add("<bos>", TokenKind::kControl);
  small.vocabulary.eos = small.add("<eos>", TokenKind::kControl);
  for (int byte = 0; byte < 256; ++byte) {
    const std::string_view digits = "0123456789ABCDEF";
    small.add(std::string("<0x") + digits[static_cast<std::size_t>(byte >> 4)] +
                  digits[static_cast<std::size_t>(byte & 15)] + ">",
              TokenKind::kByte);
  }
  small.add("<b>", TokenKind::kUserDefined);
  small.add("  ", TokenKind::kUserDefined);
  float score = 0;
  for (const std::string_view piece : {"a", "b", "▁", "ab", "▁ab", "ba", "é"}) {
    small.add(piece, TokenKind::kNormal, score);
    score -= 1;
  }
  small.vocabulary.add_space_prefix = false;
  return small;
}

}  // namespace paternoster::text
