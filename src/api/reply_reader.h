// The other end of stream_reply.h and whole_reply.h: what a server of the field said, in one event of a
// stream or in one whole body. Reads the words of OpenAI, vLLM, SGLang and llama.cpp; what a server does
// not tell stays empty.
//
// Takes any bytes: what is not a reply is an ApiError (status 502 if it is no JSON, 200 if it is the
// server's own `error` in mid-stream). "[DONE]" is the caller's to know.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/error.h"
#include "api/event.h"

namespace paternoster::api {

// The server's own clock. Negative: not told.
struct ServerTimings {
  std::int64_t queue_ns = -1;
  std::int64_t prefill_ns = -1;      // first seat to first token
  std::int64_t first_token_ns = -1;  // arrival to first token
  std::int64_t decode_ns = -1;       // first token to last
};

struct ReplyPiece {
  std::int32_t choice = -1;  // -1: of none, as in the chunk with the usage
  bool carries = false;      // some of the answer: text, a tool call, or token ids
  std::string text;          // content, then reasoning
  std::optional<std::vector<TokenId>> token_ids;  // with return_token_ids
  std::string finish_reason;  // empty: it goes on
  std::optional<Usage> usage;  // so far, if told in every chunk
  std::optional<ServerTimings> timings;
};

ApiResult<ReplyPiece> read_reply(std::string_view json);

// The message in an error's body: {"error":{"message"}}, {"error":""}, {"message"}, {"detail"}; else the
// beginning of the text itself. One line.
std::string error_message_of(std::string_view body);

}  // namespace paternoster::api
