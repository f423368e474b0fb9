// The text of one choice as it is generated: whole characters, up to the first stop string.
//
// Owned by the engine's thread. The tokenizer must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "text/detokenizer.h"
#include "text/stop_matcher.h"
#include "text/tokenizer.h"

namespace paternoster::engine {

struct TextStreamOptions {
  std::vector<std::string> stops;
  bool include_stop = false;
  std::int32_t min_tokens = 0;  // stop strings are not looked for before so many tokens
};

class TextStream {
 public:
  TextStream(const text::Tokenizer& tokenizer, const TextStreamOptions& options)
      : detokenizer_(tokenizer), matcher_(options.stops), options_(options) {}

  // Appends to `out` what is certain after this token. True when a stop string is complete: nothing
  // more may be pushed.
  bool push(TokenId token, std::string& out);

  // The end without a stop string: appends what was held back.
  void finish(std::string& out);

  // The stop string that was found.
  std::optional<std::string> stop() const;

 private:
  text::Detokenizer detokenizer_;
  text::StopMatcher matcher_;
  TextStreamOptions options_;
  std::int32_t tokens_ = 0;
  std::string piece_;
};

}  // namespace paternoster::engine
