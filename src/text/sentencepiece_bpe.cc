#include "text/sentencepiece_bpe.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

#include "text/utf8.h"

namespace paternoster::text {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  for (std::size_t at = 0;;) {
    const std::size_t found = text.find(from, at);
    out.append(text.substr(at, found - at));
    if (found == std::string_view::npos) return out;
    out.append(to);
    at = found + from.size();
  }
}

// "<0x41>" -> 0x41
std::optional<unsigned char> byte_of_piece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return std::nullopt;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(piece.data() + 3, piece.data() + 5, value, 16);
  if (error != std::errc() || end != piece.data() + 5) return std::nullopt;
  return static_cast<unsigned char>(value);
}

// Higher scores come first: order-preserving, from float to unsigned, upside down.
std::uint32_t rank_of(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0F);  // -0 becomes 0
  const std::uint32_t ascending = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
  return ~ascending == kNoRank ? kNoRank - 1 : ~ascending;
}

TokenKind kind_of(const Vocabulary& vocabulary, std::size_t index) {
  return vocabulary.kinds.empty() ? TokenKind::kNormal : vocabulary.kinds[index];
}

}  // namespace

std::string sentencepiece_bytes(std::string_view piece, TokenKind kind) {
  if (kind == TokenKind::kControl || kind == TokenKind::kUnknown) return std::string(piece);
  if (kind == TokenKind::kByte) {
    if (const auto byte = byte_of_piece(piece)) return std::string(1, static_cast<char>(*byte));
  }
  return replaced(piece, kSpace, " ");
}

Result<SentencePieceBpe> SentencePieceBpe::create(const Vocabulary& vocabulary) {
  if (vocabulary.scores.size() != vocabulary.tokens.size()) {
    return failure(ErrorCode::kInvalidFile,
                   "tokenizer.ggml.scores must hold one score for each of the " +
                       std::to_string(vocabulary.tokens.size()) + " tokens");
  }
  SentencePieceBpe result;
  result.load_pieces(vocabulary);
  return result;
}

void SentencePieceBpe::load_pieces(const Vocabulary& vocabulary) {
  const std::size_t count = vocabulary.tokens.size();
  std::size_t total = 0;
  for (const std::string_view token : vocabulary.tokens) total += token.size();
  pieces_.reserve(count, total + total / 8);
  by_bytes_ = PieceMap(count);
  ranks_.resize(count);
  byte_ids_.fill(-1);
  ascii_ids_.fill(-1);
  unknown_ = vocabulary.unknown.value_or(-1);
  std::vector<TokenId> user_defined;
  for (std::size_t i = 0; i < count; ++i) {
    const auto id = static_cast<TokenId>(i);
    const TokenKind kind = kind_of(vocabulary, i);
    ranks_[i] = rank_of(vocabulary.scores[i]);
    // Some files store user-defined runs of spaces as they are.
    if (kind == TokenKind::kUserDefined && vocabulary.tokens[i].find(' ') != std::string::npos) {
      pieces_.add(replaced(vocabulary.tokens[i], " ", kSpace));
    } else {
      pieces_.add(vocabulary.tokens[i]);
    }
    if (kind == TokenKind::kUserDefined) user_defined.push_back(id);
    if (kind == TokenKind::kByte) {
      if (const auto byte = byte_of_piece(vocabulary.tokens[i])) byte_ids_[*byte] = id;
    }
    if (kind == TokenKind::kControl || kind == TokenKind::kUnknown || kind == TokenKind::kByte) {
      continue;
    }
    const std::string_view piece = pieces_(id);
    by_bytes_.insert(id, pieces_);
    longest_ = std::max(longest_, piece.size());
    note_inner_spaces(piece);
    if (piece.size() == 1 && static_cast<unsigned char>(piece[0]) < 0x80) {
      ascii_ids_[static_cast<unsigned char>(piece[0])] = id;
    }
  }
  frozen_ = SpellingMatcher(user_defined, pieces_);
}

void SentencePieceBpe::encode(std::string_view text, bool space_prefix,
                              std::vector<TokenId>& out) const {
  if (text.empty()) return;
  std::string escaped(space_prefix ? kSpace : "");
  escaped += replaced(text, " ", kSpace);
  const std::string_view all = escaped;
  const auto any = [](TokenId, std::size_t) { return true; };
  std::size_t begin = 0;  // of what is not yet encoded
  std::size_t at = 0;
  while (at < all.size()) {
    const auto match = frozen_.longest_at(all, at, any);
    if (match.id < 0) {
      ++at;
      continue;
    }
    encode_unfrozen(all.substr(begin, at - begin), out);
    out.push_back(match.id);
    at += match.length;
    begin = at;
  }
  encode_unfrozen(all.substr(begin), out);
}

void SentencePieceBpe::note_inner_spaces(std::string_view piece) {
  for (std::size_t at = piece.find(kSpace); at != std::string_view::npos;
       at = piece.find(kSpace, at + kSpace.size())) {
    // Runs of spaces stay together anyway.
    if (at > 0 && !piece.substr(0, at).ends_with(kSpace)) {
      joins_space_[static_cast<unsigned char>(piece[at - 1])] = true;
    }
  }
}

// Word by word where merges cannot cross: that keeps the merge loop in its fast, short form.
void SentencePieceBpe::encode_unfrozen(std::string_view escaped, std::vector<TokenId>& out) const {
  std::size_t begin = 0;
  for (std::size_t at = escaped.find(kSpace); at != std::string_view::npos;
       at = escaped.find(kSpace, at + kSpace.size())) {
    const std::string_view before = escaped.substr(begin, at - begin);
    if (before.empty() || before.ends_with(kSpace)) continue;
    if (joins_space_[static_cast<unsigned char>(before.back())]) continue;
    encode_word(before, out);
    begin = at;
  }
  encode_word(escaped.substr(begin), out);
}

void SentencePieceBpe::encode_word(std::string_view word, std::vector<TokenId>& out) const {
  if (word.empty()) return;
  thread_local std::vector<Symbol> symbols;
  thread_local MergeScratch scratch;
  symbols.clear();
  for (std::size_t at = 0; at < word.size();) {
    const auto lead = static_cast<unsigned char>(word[at]);
    const std::size_t length = lead < 0x80 ? 1 : utf8_step(word.substr(at, 4)).length;
    const TokenId id =
        lead < 0x80 ? ascii_ids_[lead] : by_bytes_.find(word.substr(at, length), pieces_);
    symbols.push_back({id, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(length)});
    at += length;
  }
  const auto find = [&](const Symbol& left, const Symbol& right) -> Merge {
    const std::size_t length = std::size_t{left.length} + right.length;
    if (length > longest_) return {kNoRank, -1};
    const TokenId id = by_bytes_.find(word.substr(left.begin, length), pieces_);
    return id < 0 ? Merge{kNoRank, -1} : Merge{ranks_[static_cast<std::size_t>(id)], id};
  };
  merge_symbols(symbols, find, scratch);
  for (const Symbol& symbol : symbols) emit(symbol, word, out);
  if (symbols.capacity() > kHugeWord) symbols = std::vector<Symbol>();
}

void SentencePieceBpe::emit(const Symbol& symbol, std::string_view word,
                            std::vector<TokenId>& out) const {
  if (symbol.id >= 0) {
    out.push_back(symbol.id);
    return;
  }
  for (const char character : word.substr(symbol.begin, symbol.length)) {
    const TokenId byte = byte_ids_[static_cast<unsigned char>(character)];
    if (byte >= 0) {
      out.push_back(byte);
    } else if (unknown_ >= 0) {
      out.push_back(unknown_);
      return;  // one for the character
    }
  }
}

}  // namespace paternoster::text
