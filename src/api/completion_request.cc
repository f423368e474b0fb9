#include <boost/json/array.hpp>
#include <limits>

#include "api/common_fields.h"

namespace paternoster::api {

namespace json = boost::json;

namespace {

constexpr std::string_view kPromptWords =
    "must be a string, a list of strings, a list of token ids or a list of such lists";

std::string text_of(const json::string& text) { return {text.data(), text.size()}; }

bool add_tokens(FieldReader& fields, const json::array& array, std::vector<Prompt>& prompts) {
  auto tokens = as_tokens(array);
  if (!tokens || tokens->empty()) {
    fields.fail_value("prompt", tokens ? "must not be empty" : kPromptWords);
    return false;
  }
  prompts.emplace_back(TokenPrompt{std::move(*tokens)});
  return true;
}

void read_prompts(FieldReader& fields, std::vector<Prompt>& prompts) {
  const json::value* value = fields.find("prompt");
  if (fields.failed()) return;
  if (value == nullptr) {
    fields.fail_value("prompt", "must be given");
    return;
  }
  if (value->is_string()) {
    prompts.emplace_back(TextPrompt{text_of(value->get_string())});
    return;
  }
  if (!value->is_array()) {
    fields.fail_value("prompt", kPromptWords);
    return;
  }
  const json::array& array = value->get_array();
  if (array.empty() || array[0].is_number()) {
    add_tokens(fields, array, prompts);
    return;
  }
  if (array.size() > kMostPrompts) {
    fields.fail_value("prompt", "may be a list of at most 256 prompts");
    return;
  }
  for (const json::value& member : array) {
    if (member.is_string()) {
      prompts.emplace_back(TextPrompt{text_of(member.get_string())});
    } else if (!member.is_array()) {
      fields.fail_value("prompt", kPromptWords);
      return;
    } else if (!add_tokens(fields, member.get_array(), prompts)) {
      return;
    }
  }
}

void read_text_length(FieldReader& fields, Generation& shared, Ask& ask) {
  std::int32_t most = kDefaultTextTokens;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  fields.read("echo", shared.echo);
  fields.read("max_tokens", 0, kMost, most);
  fields.read("max_completion_tokens", 0, kMost, most);
  if (most == 0 && !shared.echo) fields.fail_value("max_tokens", "may be 0 only with `echo`");
  ask.prompt_only = most == 0;
  shared.max_tokens = most == 0 ? 1 : most;
}

// Here `logprobs` is a number: how many of the best to name.
void read_text_logprobs(FieldReader& fields, Ask& ask, Generation& shared) {
  const json::value* value = fields.find("logprobs");
  if (value != nullptr && value->is_bool()) {
    if (value->get_bool()) fields.fail_value("logprobs", "must be an integer on this route");
    return;
  }
  shared.logprobs = fields.read("logprobs", 0, kMostLogprobs, shared.top_logprobs);
  ask.logprobs = shared.logprobs;
}

}  // namespace

ApiResult<Ask> parse_completion(std::string_view body) {
  const auto object = parse_object(body);
  if (!object) return std::unexpected(object.error());
  FieldReader fields(*object);
  Ask ask;
  ask.route = Route::kText;
  Generation shared;
  std::vector<Prompt> prompts;
  read_prompts(fields, prompts);
  read_text_length(fields, shared, ask);
  read_common_fields(fields, ask, shared);
  read_text_logprobs(fields, ask, shared);
  fields.read("add_special_tokens", shared.add_special_tokens);
  fields.refuse({"suffix", "prompt_embeds"});
  if (prompts.size() * static_cast<std::size_t>(ask.choices) > kMostSequences) {
    fields.fail_value("n", "times the number of prompts must not be above 1024");
  }
  if (fields.failed()) return std::unexpected(fields.take_error());
  ask.unknown_fields = fields.unknown();
  for (Prompt& prompt : prompts) {
    Generation& generation = ask.generations.emplace_back(shared);
    generation.prompt = std::move(prompt);
  }
  return ask;
}

}  // namespace paternoster::api
