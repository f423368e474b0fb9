// A model's vocabulary as plain data: what a tokenizer is built from, whatever file it came from.
//
// Strings are views: whoever fills this in keeps their bytes alive until Tokenizer::create returns
// (the tokenizer copies what it needs). Nothing here is trusted: Tokenizer::create checks it all.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace paternoster::text {

// The numbers are GGUF's (tokenizer.ggml.token_type).
enum class TokenKind : std::int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      // never arises from plain text
  kUserDefined = 4,  // matched in any text before anything else
  kUnused = 5,
  kByte = 6,  // spelled "<0x41>"
};

struct Vocabulary {
  std::string_view model;  // "gpt2": byte-level BPE; "llama": SentencePiece BPE
  std::string_view pre;    // gpt2 only: which rule cuts text into words; see pretokenizer_table.h
  std::vector<std::string_view> tokens;
  std::vector<TokenKind> kinds;          // as long as tokens, or empty: all normal
  std::vector<float> scores;             // llama only: as long as tokens
  std::vector<std::string_view> merges;  // gpt2 only: "left right", best first
  std::optional<TokenId> bos, eos, eot, eom, unknown, padding;
  std::optional<bool> add_bos, add_eos, add_space_prefix;  // empty: the kind's usual choice
};

// Every id that ends a generation, ascending: eos, eot, eom, and control tokens spelled like the
// turn and text ends of known models, because files often name only one of theirs.
std::vector<TokenId> end_of_generation_ids(const Vocabulary& vocabulary);

}  // namespace paternoster::text
