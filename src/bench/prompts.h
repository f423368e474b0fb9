// The prompts of a run: from a file in turn, or words strung together to a wanted number of tokens.
//
// Words are common enough to be one token each in the vocabularies of the field. How many tokens a
// prompt of n words really becomes, chat template included, is asked of the server at two lengths
// (/tokenize, or the usage of two small requests), so no tokenizer is needed here. What a request
// really had is counted by the server again.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/request_body.h"
#include "client/caller.h"
#include "workload/workload.h"

namespace paternoster::bench {

struct FilePrompt {
  Prompt prompt;
  std::optional<std::int32_t> max_tokens;
};

// One prompt a line: JSON with "messages", "prompt", "text", "content" or "conversations", and perhaps
// "max_tokens" (or output_tokens, output_length); any other line is the prompt itself.
Result<std::vector<FilePrompt>> read_prompts(const std::string& path);

// tokens = overhead + slope x words.
struct WordScale {
  double overhead = 0;
  double slope = 1;
  std::string source;  // "tokenize", "usage": who said so
};

// The text of `words` words; equal keys make equal words.
std::string words_text(const std::vector<TokenId>& keys, std::size_t words);

class PromptMaker {
 public:
  explicit PromptMaker(std::vector<FilePrompt> prompts) : file_(std::move(prompts)) {}
  explicit PromptMaker(WordScale scale) : scale_(scale) {}

  Prompt make(const workload::Source& source, const workload::Arrival& arrival) const;
  // Of the answer.
  std::int32_t max_tokens(const workload::Arrival& arrival) const;
  // What the prompt is meant to have; 0: nobody knows.
  std::int32_t expected_tokens(const workload::Arrival& arrival) const;

 private:
  const FilePrompt* line_of(const workload::Arrival& arrival) const;

  std::vector<FilePrompt> file_;
  WordScale scale_;
  mutable std::vector<TokenId> keys_;
};

// Asks the server. `body` says route and model.
Result<WordScale> ask_word_scale(boost::asio::io_context& context, client::Caller& caller, RequestBody body);

}  // namespace paternoster::bench
