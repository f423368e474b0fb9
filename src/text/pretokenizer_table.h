// How each model family cuts text into words before merging: the names that GGUF files use.
//
// A rule is a list of expressions for Pretokenizer. The expressions are the families' own, as their
// tokenizer files give them, rewritten only where PCRE2 differs or where they would take quadratic
// time. Internal to text/.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace paternoster::text {

// In place of an expression: runs of digits are cut into threes, counted from their right end.
inline constexpr std::string_view kDigitsFromRight = "digits from right";
// The same, for runs that no letter, digit or underscore touches.
inline constexpr std::string_view kWholeDigitsFromRight = "whole digits from right";

struct WordRule {
  std::vector<std::string_view> expressions;
  bool whole_words_first = false;  // a word that is a token is not merged
  bool adds_bos = false;           // when the file does not say
};

// The rule called `name` in tokenizer.ggml.pre; empty means default. The pointer is valid for ever.
Result<const WordRule*> word_rule(std::string_view name);

// Every name there is, ascending.
std::vector<std::string_view> word_rule_names();

// Whether models with that rule want a BOS when their file does not say; false for unknown names.
bool adds_bos_by_default(std::string_view name);

}  // namespace paternoster::text
