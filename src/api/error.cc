#include "api/error.h"

namespace paternoster::api {
namespace {

ApiError bad_field(std::string code, std::string param, std::string message) {
  ApiError error = invalid_request(400, std::move(code), std::move(message));
  error.param = std::move(param);
  return error;
}

constexpr std::int64_t kSoonMs = 1000;

}  // namespace

ApiError other_error(int status, std::string type, std::string code, std::string message) {
  ApiError error;
  error.status = status;
  error.type = std::move(type);
  error.code = std::move(code);
  error.message = std::move(message);
  return error;
}

ApiError invalid_value(std::string param, std::string message) {
  return bad_field("invalid_value", std::move(param), std::move(message));
}

ApiError unsupported_parameter(std::string param, std::string message) {
  return bad_field("unsupported_parameter", std::move(param), std::move(message));
}

ApiError invalid_json(std::string message) {
  return bad_field("invalid_json", "", std::move(message));
}

ApiError context_length_exceeded(std::int64_t prompt_tokens, std::int64_t max_tokens,
                                 std::int64_t context_tokens) {
  // Both phrases are what clients look for to recognise an overflow.
  std::string message = "This model's maximum context length is " + std::to_string(context_tokens) +
                        " tokens. The request (" + std::to_string(prompt_tokens) +
                        " tokens in the prompt";
  if (max_tokens > 0) message += ", " + std::to_string(max_tokens) + " to generate";
  message += ") exceeds the available context size. Shorten the prompt or ask for fewer tokens.";
  ApiError error = bad_field("context_length_exceeded", "", std::move(message));
  error.extras = {{"n_prompt_tokens", prompt_tokens}, {"n_ctx", context_tokens}};
  return error;
}

ApiError chat_template_error(std::string message) {
  return bad_field("chat_template_error", "messages", std::move(message));
}

ApiError model_not_found(const std::string& model) {
  ApiError error = other_error(404, "invalid_request_error", "model_not_found",
                               "The model `" + model + "` is not served here; see GET /v1/models.");
  error.param = "model";
  return error;
}

ApiError queue_full(std::int64_t retry_after_ms) {
  ApiError error = other_error(503, "overloaded_error", "queue_full",
                               "The queue is full; try again later.");
  error.retry_after_ms = retry_after_ms;
  return error;
}

ApiError loading() {
  ApiError error = other_error(503, "unavailable_error", "loading", "The model is being loaded.");
  error.retry_after_ms = kSoonMs;
  return error;
}

ApiError draining() {
  ApiError error = other_error(503, "unavailable_error", "draining",
                               "The server is shutting down and takes no new requests.");
  error.retry_after_ms = kSoonMs;
  return error;
}

ApiError deadline_exceeded(const std::string& stage) {
  ApiError error = other_error(408, "timeout_error", "deadline_exceeded",
                               "The request's timeout passed while it was in " + stage + ".");
  error.hopeless = true;
  return error;
}

ApiError deadline_hopeless() {
  ApiError error = other_error(408, "timeout_error", "deadline_exceeded",
                               "The request's timeout cannot be kept from the queue: it has passed, or is too near.");
  error.hopeless = true;
  return error;
}

ApiError cancelled() {
  ApiError error = other_error(409, "cancelled_error", "cancelled", "The request was cancelled.");
  error.hopeless = true;
  return error;
}

ApiError rate_limited(std::string code, std::string message, std::int64_t retry_after_ms) {
  ApiError error = other_error(429, "rate_limit_error", std::move(code), std::move(message));
  error.retry_after_ms = retry_after_ms;
  return error;
}

ApiError invalid_request(int status, std::string code, std::string message) {
  return other_error(status, "invalid_request_error", std::move(code), std::move(message));
}

ApiError server_error(std::string message) {
  return other_error(500, "server_error", "", std::move(message));
}

}  // namespace paternoster::api
