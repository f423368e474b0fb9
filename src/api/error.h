// What a client is told when its request cannot be served: one error in OpenAI's shape.
//
// Made by whoever finds the fault (request parser, backend, server) through the makers below, so that
// the same fault has the same status, type and code on every route. A plain value.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <vector>

namespace paternoster::api {

struct ApiError {
  int status = 500;
  std::string type = "server_error";
  std::string code;     // empty: null
  std::string param;    // the field to blame; empty: null
  std::string message;  // one line for a person
  std::vector<std::pair<std::string, std::int64_t>> extras;  // n_prompt_tokens, n_ctx, ...
  std::int64_t retry_after_ms = 0;                           // 0: not said
  bool hopeless = false;  // trying again will not help: clients that retry by themselves should not
};

template <typename T>
using ApiResult = std::expected<T, ApiError>;

// 400 invalid_value: the field `param` has a value that cannot be.
ApiError invalid_value(std::string param, std::string message);
// 400 unsupported_parameter: understood, but not offered.
ApiError unsupported_parameter(std::string param, std::string message);
// 400 invalid_json.
ApiError invalid_json(std::string message);
// 400 context_length_exceeded. max_tokens 0: not given by the client.
ApiError context_length_exceeded(std::int64_t prompt_tokens, std::int64_t max_tokens,
                                 std::int64_t context_tokens);
// 400 chat_template_error: the model's template is missing or refuses these messages.
ApiError chat_template_error(std::string message);
// 404 model_not_found.
ApiError model_not_found(const std::string& model);
// 503 with a time after which to try again.
ApiError queue_full(std::int64_t retry_after_ms);
ApiError loading();
ApiError draining();
// 408: the time the client gave is over before it has begun, or too short for what it asks.
ApiError deadline_hopeless();
// 408: the time the client gave is over. `stage`: where it ended (queue, prefill, decode).
ApiError deadline_exceeded(const std::string& stage);
// 409: somebody asked to end it before it was taken up (DELETE /v1/requests/{id}).
ApiError cancelled();
// 429: this key is over a limit of its own.
ApiError rate_limited(std::string code, std::string message, std::int64_t retry_after_ms);
// 500: a fault of ours.
ApiError server_error(std::string message);
// A request that HTTP, not its JSON, makes wrong: invalid_request_error with this status and code.
ApiError invalid_request(int status, std::string code, std::string message);
// Any other: status, type, code, message.
ApiError other_error(int status, std::string type, std::string code, std::string message);

}  // namespace paternoster::api
