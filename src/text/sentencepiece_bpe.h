// SentencePiece-style byte pair encoding: merges by score over characters, bytes for what is left.
//
// Spaces are U+2581. User-defined pieces are cut out first, longest first, and never merge.
// Immutable and thread-safe. Internal to text/: Tokenizer deals with control tokens and ill-formed
// UTF-8.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/hash_maps.h"
#include "text/merge_loop.h"
#include "text/spelling_matcher.h"
#include "text/vocabulary.h"

namespace paternoster::text {

class SentencePieceBpe {
 public:
  static Result<SentencePieceBpe> create(const Vocabulary& vocabulary);

  // Appends the ids of plain text, well-formed UTF-8. With `space_prefix` as if a space came first.
  void encode(std::string_view text, bool space_prefix, std::vector<TokenId>& out) const;

 private:
  SentencePieceBpe() = default;
  void load_pieces(const Vocabulary& vocabulary);
  void note_inner_spaces(std::string_view piece);
  void encode_unfrozen(std::string_view escaped, std::vector<TokenId>& out) const;
  void encode_word(std::string_view word, std::vector<TokenId>& out) const;
  void emit(const Symbol& symbol, std::string_view word, std::vector<TokenId>& out) const;

  StringTable pieces_;  // by id, spaces as U+2581
  PieceMap by_bytes_;   // the pieces that merges may make
  std::vector<std::uint32_t> ranks_;
  std::array<TokenId, 256> byte_ids_{};
  std::array<TokenId, 128> ascii_ids_{};  // pieces of one ASCII character
  TokenId unknown_ = -1;
  std::size_t longest_ = 0;  // bytes of the longest piece
  // By byte: whether some piece holds U+2581 right after it. Merges cross no other start of a word.
  std::array<bool, 256> joins_space_{};
  SpellingMatcher frozen_;  // user-defined pieces
};

// What a token of such a vocabulary stands for: U+2581 as a space, "<0x41>" as its byte.
std::string sentencepiece_bytes(std::string_view piece, TokenKind kind);

}  // namespace paternoster::text
