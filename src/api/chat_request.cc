#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <limits>

#include "api/chat_messages.h"
#include "api/common_fields.h"

namespace paternoster::api {

namespace json = boost::json;

namespace {

void read_chat_length(FieldReader& fields, Generation& shared) {
  std::int32_t most = 0;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (fields.read("max_tokens", 1, kMost, most)) shared.max_tokens = most;
  if (fields.read("max_completion_tokens", 1, kMost, most)) shared.max_tokens = most;
}

void read_chat_logprobs(FieldReader& fields, Ask& ask, Generation& shared) {
  fields.read("logprobs", shared.logprobs);
  if (fields.read("top_logprobs", 0, kMostLogprobs, shared.top_logprobs) && !shared.logprobs &&
      shared.top_logprobs > 0) {
    fields.fail_value("top_logprobs", "is allowed only when `logprobs` is true");
  }
  ask.logprobs = shared.logprobs;
}

void read_tools(FieldReader& fields) {
  fields.refuse({"tools", "functions", "function_call", "audio"});
  const json::value* choice = fields.find("tool_choice");
  const bool harmless =
      choice == nullptr ||
      (choice->is_string() && (choice->get_string() == "none" || choice->get_string() == "auto"));
  if (!harmless) {
    fields.fail(unsupported_parameter("tool_choice", "Tools are not supported."));
  }
  fields.ignore({"parallel_tool_calls"});
  const json::value* modalities = fields.find("modalities");
  if (modalities != nullptr && *modalities != json::value(json::array{"text"})) {
    fields.fail(unsupported_parameter("modalities", "Only the modality `text` is supported."));
  }
}

// Variables for the template: chat_template_kwargs, and reasoning_effort under its own name.
void read_template_variables(FieldReader& fields, ChatPrompt& prompt) {
  json::object variables;
  if (const json::object* given = fields.read_object("chat_template_kwargs")) variables = *given;
  std::string effort;
  if (fields.read("reasoning_effort", effort)) variables["reasoning_effort"] = effort;
  if (!variables.empty()) prompt.template_json = json::serialize(variables);
  fields.read("add_generation_prompt", prompt.add_generation_prompt);
  fields.refuse({"continue_final_message", "chat_template", "documents", "echo"});
}

}  // namespace

ApiResult<Ask> parse_chat(std::string_view body) {
  const auto object = parse_object(body);
  if (!object) return std::unexpected(object.error());
  FieldReader fields(*object);
  Ask ask;
  ask.route = Route::kChat;
  Generation shared;
  ChatPrompt prompt;
  read_messages(fields, prompt.messages);
  read_chat_length(fields, shared);
  read_common_fields(fields, ask, shared);
  read_chat_logprobs(fields, ask, shared);
  read_tools(fields);
  read_template_variables(fields, prompt);
  if (fields.failed()) return std::unexpected(fields.take_error());
  shared.prompt = std::move(prompt);
  ask.unknown_fields = fields.unknown();
  ask.generations.push_back(std::move(shared));
  return ask;
}

}  // namespace paternoster::api
