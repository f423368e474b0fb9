#include "text/byte_level_bpe.h"

#include <string>
#include <utility>

#include "text/byte_alphabet.h"
#include "text/pretokenizer_table.h"

namespace paternoster::text {
namespace {

bool arises_from_text(const Vocabulary& vocabulary, TokenId id) {
  if (vocabulary.kinds.empty()) return true;
  const TokenKind kind = vocabulary.kinds[static_cast<std::size_t>(id)];
  return kind != TokenKind::kControl && kind != TokenKind::kUnknown;
}

MergeScratch& merge_scratch() {
  thread_local MergeScratch scratch;
  return scratch;
}

}  // namespace

std::string byte_level_bytes(std::string_view piece, TokenKind kind) {
  // Special tokens are spelled as themselves; so is, by mistake, a normal one in a few files.
  if (kind == TokenKind::kNormal || kind == TokenKind::kUnused) {
    if (auto bytes = bytes_of_spelling(piece)) return *std::move(bytes);
  }
  return std::string(piece);
}

Result<ByteLevelBpe> ByteLevelBpe::create(const Vocabulary& vocabulary, const StringTable& bytes) {
  const auto rule = word_rule(vocabulary.pre);
  if (!rule) return std::unexpected(rule.error());
  auto pretokenizer = Pretokenizer::create((*rule)->expressions);
  if (!pretokenizer) return std::unexpected(pretokenizer.error());

  ByteLevelBpe result;
  result.pretokenizer_ = *std::move(pretokenizer);
  result.bytes_ = &bytes;
  result.whole_words_first_ = (*rule)->whole_words_first;
  if (auto loaded = result.load_merges(vocabulary); !loaded) {
    return std::unexpected(loaded.error());
  }
  if (result.whole_words_first_) {
    result.words_ = PieceMap(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto id = static_cast<TokenId>(i);
      if (arises_from_text(vocabulary, id)) result.words_.insert(id, bytes);
    }
  }
  return result;
}

Result<void> ByteLevelBpe::load_merges(const Vocabulary& vocabulary) {
  const auto piece_of = [&](TokenId id) { return vocabulary.tokens[static_cast<std::size_t>(id)]; };
  PieceMap pieces(vocabulary.tokens.size());
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (arises_from_text(vocabulary, id)) pieces.insert(id, piece_of);
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = pieces.find(spelling_of_byte(static_cast<unsigned char>(byte)), piece_of);
  }
  merges_ = PairMap(vocabulary.merges.size());
  std::string both;
  for (std::size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
    const std::string_view merge = vocabulary.merges[rank];
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == merge.size()) {
      return failure(ErrorCode::kInvalidFile, "tokenizer.ggml.merges[" + std::to_string(rank) +
                                                  "] is not two pieces with a space between");
    }
    const std::string_view left = merge.substr(0, space);
    const std::string_view right = merge.substr(space + 1);
    both.assign(left).append(right);
    const TokenId left_id = pieces.find(left, piece_of);
    const TokenId right_id = pieces.find(right, piece_of);
    const TokenId id = pieces.find(both, piece_of);
    // A merge of pieces that the vocabulary lacks can never apply.
    if (left_id < 0 || right_id < 0 || id < 0) continue;
    merges_.insert(left_id, right_id, {static_cast<std::uint32_t>(rank), id});
  }
  return {};
}

Result<void> ByteLevelBpe::encode(std::string_view text, std::vector<TokenId>& out) const {
  std::vector<ByteSpan> words;
  if (auto cut = pretokenizer_.cut(text, words); !cut) return cut;
  for (const ByteSpan word : words) {
    encode_word(text.substr(word.begin, word.end - word.begin), out);
  }
  return {};
}

void ByteLevelBpe::encode_word(std::string_view word, std::vector<TokenId>& out) const {
  if (whole_words_first_) {
    if (const TokenId id = words_.find(word, *bytes_); id >= 0) {
      out.push_back(id);
      return;
    }
  }
  thread_local std::vector<Symbol> symbols;
  symbols.clear();
  for (std::size_t i = 0; i < word.size(); ++i) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(word[i])];
    if (id >= 0) symbols.push_back({id, static_cast<std::uint32_t>(i), 1});
  }
  const auto find = [this](const Symbol& left, const Symbol& right) -> Merge {
    const Merge* merge = merges_.find(left.id, right.id);
    return merge != nullptr ? *merge : Merge{kNoRank, -1};
  };
  merge_symbols(symbols, find, merge_scratch());
  for (const Symbol& symbol : symbols) out.push_back(symbol.id);
  if (symbols.capacity() > kHugeWord) symbols = std::vector<Symbol>();
}

}  // namespace paternoster::text
