// What a backend is asked for: one prompt, n choices. The parser (chat_request.h,
// completion_request.h) has checked every range that can be checked without a model; whoever makes a
// Generation otherwise owes the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api/standing.h"
#include "base/ids.h"

namespace paternoster::api {

struct Message {
  std::string role;        // system, developer, user, assistant, tool
  std::string content;     // parts already put together; valid UTF-8
  std::string extra_json;  // further members (name, tool_calls, ...) as a JSON object; empty: none
};

struct ChatPrompt {
  std::vector<Message> messages;
  bool add_generation_prompt = true;
  std::string template_json;  // further template variables as a JSON object; empty: none
};

struct TextPrompt {
  std::string text;
};

struct TokenPrompt {
  std::vector<TokenId> tokens;  // not negative; the backend checks that the vocabulary has them
};

using Prompt = std::variant<ChatPrompt, TextPrompt, TokenPrompt>;

struct Sampling {
  double temperature = 1.0;  // 0..2
  double top_p = 1.0;        // (0, 1]
  std::int32_t top_k = 0;    // 0: off
  double min_p = 0.0;        // [0, 1]
  double presence_penalty = 0.0;   // -2..2
  double frequency_penalty = 0.0;  // -2..2
  double repetition_penalty = 1.0;  // (0, 10]
  std::optional<std::uint64_t> seed;  // none: the backend takes one of its own
  std::vector<std::pair<TokenId, double>> logit_bias;  // -100..100
};

struct Generation {
  std::string request_id;  // for logs and the live view; the choices of an array share it
  Prompt prompt;
  std::int32_t choices = 1;               // `n`
  std::optional<std::int32_t> max_tokens;  // at least 1; none: the rest of the context
  std::int32_t min_tokens = 0;
  Sampling sampling;
  std::vector<std::string> stop;
  std::vector<TokenId> stop_token_ids;
  bool include_stop_string = false;
  bool ignore_eos = false;
  bool logprobs = false;        // of the chosen tokens
  std::int32_t top_logprobs = 0;  // and of so many best ones, 0..20
  bool echo = false;  // the prompt comes first, as one Delta a choice with `prompt` set; with logprobs
                      // those of its tokens too (the first has none)
  std::string cache_salt;  // prefixes are shared only between equal salts of one owner
  Standing standing;
  bool add_special_tokens = true;  // TextPrompt only: BOS where the model wants one
};

}  // namespace paternoster::api
