// The pieces that replies of both routes are made of, each appended as JSON to a string.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "api/error.h"
#include "api/event.h"
#include "api/request.h"

namespace paternoster::api {

// What every chunk and body of one reply repeats.
struct ReplyHeading {
  Route route = Route::kChat;
  std::string id;  // "chatcmpl-..." or "cmpl-..."
  std::int64_t created_s = 0;
  std::string model;
};

// {"error":{...}}
void append_error(std::string& out, const ApiError& error);
std::string error_body(const ApiError& error);

void append_usage(std::string& out, const Usage& usage);
void append_timings(std::string& out, const Timings& timings);
void append_tokens(std::string& out, std::span<const TokenId> tokens);
// Only if there is something to name: ,"stop_reason":...
void append_stop_reason(std::string& out, const StopReason& reason);

// {"content":[...],"refusal":null}, the chat route's shape.
void append_chat_logprobs(std::string& out, std::span<const TokenLogprobs> tokens);
// {"tokens":[...],...}, the completions route's. `offset` counts characters of the choice's text so far
// and is moved on.
void append_text_logprobs(std::string& out, std::span<const TokenLogprobs> tokens,
                          std::int64_t& offset);

}  // namespace paternoster::api
