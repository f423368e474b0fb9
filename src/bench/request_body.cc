#include "bench/request_body.h"

#include "base/json_writer.h"

namespace paternoster::bench {
namespace {

void append_prompt(JsonObject& object, api::Route route, const Prompt& prompt) {
  if (route == api::Route::kChat) {
    std::string& out = object.key("messages");
    if (!prompt.messages_json.empty()) {
      out += prompt.messages_json;
      return;
    }
    out += "[{\"role\":\"user\",\"content\":";
    append_string(out, prompt.text);
    out += "}]";
  } else if (prompt.token_ids.empty()) {
    object.field("prompt", prompt.text);
  } else {
    std::string& out = object.key("prompt");
    out += '[';
    for (const TokenId token : prompt.token_ids) {
      if (out.back() != '[') out += ',';
      append_integer(out, token);
    }
    out += ']';
  }
}

}  // namespace

std::string write_body(const RequestBody& body, const Prompt& prompt) {
  std::string out;
  JsonObject object(out);
  if (!body.model.empty()) object.field("model", body.model);
  append_prompt(object, body.route, prompt);
  object.field("max_tokens", body.max_tokens).field("temperature", body.temperature).field("stream", true);
  JsonObject options(object.key("stream_options"));
  options.field("include_usage", true);
  if (body.continuous_usage) options.field("continuous_usage_stats", true);
  options.end();
  if (body.exact_length) object.field("ignore_eos", true).field("min_tokens", body.max_tokens);
  if (body.seed) object.field("seed", *body.seed);
  if (body.priority) object.field("priority", *body.priority);
  if (body.timeout_ms) object.field("timeout_ms", *body.timeout_ms);
  if (body.expected_tokens) object.field("expected_tokens", *body.expected_tokens);
  if (!body.user.empty()) object.field("user", body.user);
  if (body.extra_json.size() > 2) {
    out += ',';
    out += std::string_view(body.extra_json).substr(1, body.extra_json.size() - 2);
  }
  object.end();
  return out;
}

const char* path_of(api::Route route) {
  return route == api::Route::kChat ? "/v1/chat/completions" : "/v1/completions";
}

}  // namespace paternoster::bench
