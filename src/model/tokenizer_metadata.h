// The tokenizer as the file stores it: plain arrays, checked against each other, not yet a tokenizer.
//
// Text layers build theirs from this. Strings are views of the file's mapping. Invariants: scores and
// types are empty or as long as tokens; every id lies inside the vocabulary; every type is 1..6.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace paternoster::model {

class GgufFile;

// GGUF's numbers for the kinds of tokens.
enum class TokenKind : std::int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

struct TokenizerMetadata {
  std::string_view model;  // "gpt2" (byte-level BPE) or "llama" (SentencePiece BPE), or another name
  std::string_view pre;    // which pre-tokenizer; empty when the file does not say
  std::vector<std::string_view> tokens;
  std::vector<float> scores;           // finite
  std::vector<TokenKind> kinds;
  std::vector<std::string_view> merges;  // "left right"
  std::optional<TokenId> bos, eos, eot, eom, unknown, padding, separator, mask;
  std::optional<bool> add_bos, add_eos, add_space_prefix;  // empty: the file does not say
  std::optional<bool> remove_extra_whitespaces;
  std::string_view chat_template;  // empty: none
};

Result<TokenizerMetadata> tokenizer_metadata_of(const GgufFile& file);

}  // namespace paternoster::model
