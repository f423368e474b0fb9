// Cuts text into the words that byte-level BPE merges inside of, by regular expressions.
//
// Immutable once created, thread-safe. The words cover the text, in order and without gaps.
// Internal to text/. PCRE2 is compiled to machine code; linear time for every rule in the table.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"

namespace paternoster::text {

class Pretokenizer {
 public:
  // Each expression cuts the pieces that the ones before it left, into its matches and what lies
  // between. `\s` and `\S` mean Unicode's White_Space. pretokenizer_table.h names two more cuts.
  static Result<Pretokenizer> create(const std::vector<std::string_view>& expressions);

  // Appends the words of `text`, well-formed UTF-8, as byte ranges.
  Result<void> cut(std::string_view text, std::vector<ByteSpan>& words) const;

 private:
  struct Code;  // a compiled expression

  std::vector<std::shared_ptr<const Code>> codes_;
};

}  // namespace paternoster::text
