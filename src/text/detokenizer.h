// Token ids to text as they are generated: gives out whole characters only.
//
// What push and flush return, put together, is well-formed UTF-8 and equals Tokenizer::decode of
// the same ids. One per sequence, one thread at a time; the tokenizer must outlive it. Copying one
// copies its state, so a sequence can be forked.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "text/tokenizer.h"

namespace paternoster::text {

class Detokenizer {
 public:
  explicit Detokenizer(const Tokenizer& tokenizer, DecodeOptions options = {});

  // Appends to `out` the text that is certain now; may be none. The id must be valid.
  void push(TokenId id, std::string& out);
  std::string push(TokenId id);

  // Ends the text: an unfinished character becomes U+FFFD. The next push starts afresh.
  std::string flush();

  // How many bytes of an unfinished character are held back: 0..3.
  std::size_t held() const { return held_.size(); }

 private:
  const Tokenizer* tokenizer_;
  DecodeOptions options_;
  bool at_start_ = true;
  std::string held_;
};

}  // namespace paternoster::text
