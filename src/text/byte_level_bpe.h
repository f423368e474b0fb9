// Byte-level byte pair encoding (GPT-2's kind): words by expressions, then merges over their bytes.
//
// Immutable and thread-safe. Bytes for which the vocabulary has no token vanish, as in the models'
// own tokenizers. Internal to text/: Tokenizer deals with special tokens and ill-formed UTF-8.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/hash_maps.h"
#include "text/merge_loop.h"
#include "text/pretokenizer.h"
#include "text/vocabulary.h"

namespace paternoster::text {

class ByteLevelBpe {
 public:
  // `bytes` holds what each token stands for and must outlive this.
  static Result<ByteLevelBpe> create(const Vocabulary& vocabulary, const StringTable& bytes);

  // Appends the ids of plain text, well-formed UTF-8.
  Result<void> encode(std::string_view text, std::vector<TokenId>& out) const;

 private:
  ByteLevelBpe() = default;
  Result<void> load_merges(const Vocabulary& vocabulary);
  void encode_word(std::string_view word, std::vector<TokenId>& out) const;

  Pretokenizer pretokenizer_;
  const StringTable* bytes_ = nullptr;
  std::array<TokenId, 256> byte_ids_{};
  PairMap merges_;
  bool whole_words_first_ = false;  // a word that is a token is that token, whatever the merges say
  PieceMap words_;
};

// What a token of such a vocabulary stands for: bytes if it is spelled in the byte alphabet.
std::string byte_level_bytes(std::string_view piece, TokenKind kind);

}  // namespace paternoster::text
