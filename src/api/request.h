// A body of POST /v1/chat/completions or /v1/completions, understood: how to answer, and what to ask the
// backend for. docs/api.md lists every field and what becomes of it.
//
// The parsers take any bytes and never fail otherwise than by an ApiError that names the field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/error.h"
#include "api/generation.h"

namespace paternoster::api {

enum class Route : std::uint8_t { kChat, kText };

struct Ask {
  Route route = Route::kChat;
  std::string model;  // empty: not named
  bool stream = false;
  bool include_usage = false;
  bool continuous_usage = false;
  bool return_token_ids = false;
  bool logprobs = false;
  // max_tokens 0 with echo: the backend draws one token, which is not shown.
  bool prompt_only = false;
  Wish wish;
  std::int32_t choices = 1;              // a prompt
  std::vector<Generation> generations;   // one a prompt; request_id and standing are still empty
  std::uint32_t unknown_fields = 0;
};

inline constexpr std::int32_t kMostChoices = 128;       // n
inline constexpr std::size_t kMostPrompts = 256;        // in an array
inline constexpr std::size_t kMostSequences = 1024;     // prompts x n
inline constexpr std::int32_t kDefaultTextTokens = 16;  // /v1/completions without max_tokens
inline constexpr std::size_t kMostStops = 16;
inline constexpr std::size_t kMostStopBytes = 1024;     // each
inline constexpr std::int32_t kMostLogprobs = 20;

ApiResult<Ask> parse_chat(std::string_view body);
ApiResult<Ask> parse_completion(std::string_view body);

// POST /tokenize: `prompt` or `content` (text), or `messages`.
struct TokenizeAsk {
  Prompt prompt;
  bool add_special_tokens = true;
  bool with_pieces = false;     // llama.cpp's name: tokens become {id, piece}
  bool return_token_strs = false;  // vLLM's name: a list of strings beside
};
ApiResult<TokenizeAsk> parse_tokenize(std::string_view body);

// POST /detokenize: `tokens`.
ApiResult<std::vector<TokenId>> parse_detokenize(std::string_view body);

}  // namespace paternoster::api
