// Text to token ids and back, for one model: byte-level BPE and SentencePiece-style BPE.
//
// Immutable once created; every member is const and may be called from any thread at once. Ids
// equal those of the model's own tokenizer (tests/text judges it). Any bytes are safe input: a
// maximal ill-formed part of UTF-8 counts as U+FFFD. Time is O(n log n) for every input, n bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "text/vocabulary.h"

namespace paternoster::text {

struct EncodeOptions {
  bool add_special = true;     // the model's BOS and EOS, where its vocabulary asks for them
  bool parse_special = false;  // spellings of control tokens become those tokens
};

struct DecodeOptions {
  bool keep_control = false;  // write control tokens as their spelling instead of nothing
  bool strip_space_prefix = true;  // undo the space that add_space_prefix put before the text
};

// Half-open range of byte offsets.
struct ByteSpan {
  std::size_t begin;
  std::size_t end;
};

class Tokenizer {
 public:
  static Result<Tokenizer> create(const Vocabulary& vocabulary);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  Result<std::vector<TokenId>> encode(std::string_view text, EncodeOptions options) const;

  // As encode, but no control token is read out of text that overlaps a span of `literal`
  // (ascending, disjoint); the text must be well-formed. No BOS is added in front of text that
  // begins with one. For chat_template.h.
  Result<std::vector<TokenId>> encode_around(std::string_view text,
                                             std::span<const ByteSpan> literal,
                                             EncodeOptions options) const;

  // Well-formed UTF-8; unfinished or ill-formed parts become U+FFFD. Ids must be valid.
  Result<std::string> decode(std::span<const TokenId> ids, DecodeOptions options = {}) const;

  std::size_t size() const;        // of the vocabulary
  bool is_valid(TokenId id) const;  // 0 <= id < size
  // The rest wants valid ids.
  bool is_control(TokenId id) const;               // control or unknown: writes no text
  std::string_view token_bytes(TokenId id) const;  // may be half a character; control: its spelling
  std::string_view piece(TokenId id) const;        // as the file spells it
  bool is_end_of_generation(TokenId id) const;
  std::span<const TokenId> end_of_generation_ids() const;  // ascending

  std::optional<TokenId> bos() const;
  std::optional<TokenId> eos() const;
  bool adds_bos() const;
  bool adds_eos() const;
  bool adds_space_prefix() const;

  // The longest control token whose spelling starts text at `offset`; for chat_template.h.
  std::optional<TokenId> control_at(std::string_view text, std::size_t offset) const;
  // How many bytes at the end of `text` begin, but do not finish, some control token's spelling.
  std::size_t open_control_suffix(std::string_view text) const;
  // Every control token, ascending; their spellings are piece(id).
  std::span<const TokenId> control_ids() const;

 private:
  struct Core;
  explicit Tokenizer(std::unique_ptr<const Core> core);

  std::unique_ptr<const Core> core_;
};

}  // namespace paternoster::text
