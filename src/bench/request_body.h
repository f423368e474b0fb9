// The JSON of one request of a run, as OpenAI-compatible servers take it. Plain values in, text out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/request.h"
#include "base/ids.h"

namespace paternoster::bench {

struct Prompt {
  std::string text;                // of the only message, or the prompt
  std::vector<TokenId> token_ids;  // instead of text, on the completions route
  std::string messages_json;       // instead of text, on the chat route: a list
};

struct RequestBody {
  api::Route route = api::Route::kChat;
  std::string model;
  std::int32_t max_tokens = 1;
  // Exactly so many tokens: ignore_eos and min_tokens. Servers that know neither may stop earlier.
  bool exact_length = true;
  // Usage in every chunk, so that tokens of a chunk are known; some strict servers refuse the field.
  bool continuous_usage = true;
  double temperature = 0;
  std::optional<std::int64_t> seed;
  std::optional<std::int32_t> priority;
  // Fields of this project's servers; others pass them over or refuse them.
  std::optional<std::int64_t> timeout_ms;
  std::optional<std::int32_t> expected_tokens;
  std::string user;  // the tenant
  std::string extra_json;  // further members, an object; empty: none
};

std::string write_body(const RequestBody& body, const Prompt& prompt);
const char* path_of(api::Route route);

}  // namespace paternoster::bench
