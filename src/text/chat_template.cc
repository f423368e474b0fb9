#include "text/chat_template.h"

#include <cstdio>
#include <utility>

#include "text/content_guard.h"
#include "text/rust_abi.h"
#include "text/utf8.h"

namespace paternoster::text {
namespace {

struct ContextDeleter {
  void operator()(pt_context* context) const { pt_context_free(context); }
};
using Context = std::unique_ptr<pt_context, ContextDeleter>;

std::unexpected<Error> rust_failure(ErrorCode code) {
  std::size_t length = 0;
  const char* text = pt_last_error(&length);
  return failure(code, std::string(text, length));
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char character : text) {
    if (character == '"' || character == '\\') {
      out += '\\';
      out += character;
    } else if (static_cast<unsigned char>(character) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(character));
      out += escape;
    } else {
      out += character;
    }
  }
  out += '"';
}

constexpr std::string_view kJsonSpaces = " \t\r\n";

// The members of a JSON object, without its braces and with a comma before them; checked for real
// when the whole is parsed.
Result<std::string> members_of(std::string_view object, std::string_view what) {
  const std::size_t first = object.find_first_not_of(kJsonSpaces);
  if (first == std::string_view::npos) return std::string();
  const std::size_t last = object.find_last_not_of(kJsonSpaces);
  if (object[first] != '{' || object[last] != '}' || first == last) {
    return failure(ErrorCode::kInvalidArgument, std::string(what) + " must be a JSON object");
  }
  const std::string_view inner = object.substr(first + 1, last - first - 1);
  if (inner.find_first_not_of(kJsonSpaces) == std::string_view::npos) return std::string();
  return "," + std::string(inner);
}

Result<std::string> json_of(const ChatPrompt& prompt) {
  std::string out = R"({"messages":[)";
  for (const ChatMessage& message : prompt.messages) {
    if (out.back() != '[') out += ',';
    out += R"({"role":)";
    append_json_string(out, message.role);
    out += R"(,"content":)";
    append_json_string(out, message.content);
    auto extra = members_of(message.extra_json, "a message's further members");
    if (!extra) return extra;
    out += *extra;
    out += '}';
  }
  out += R"(],"add_generation_prompt":)";
  out += prompt.add_generation_prompt ? "true" : "false";
  if (!prompt.tools_json.empty()) out += R"(,"tools":)" + prompt.tools_json;
  auto extra = members_of(prompt.extra_json, "chat_template_kwargs");
  if (!extra) return extra;
  return out + *extra + "}";
}

// Replaces every string in the context by its guarded form.
Result<void> guard_strings(ContentGuard& guard, pt_context* context) {
  const std::size_t count = pt_context_size(context);
  const auto string_at = [&](std::size_t index) {
    std::size_t length = 0;
    const char* text = pt_context_get(context, index, &length);
    return std::string_view(text, length);
  };
  for (std::size_t i = 0; i < count; ++i) guard.see(string_at(i));
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view text = string_at(i);
    const std::string hidden = guard.hide(text);
    if (hidden != text && !pt_context_set(context, i, hidden.data(), hidden.size())) {
      return rust_failure(ErrorCode::kInternal);
    }
  }
  return {};
}

std::string_view spelling(const Tokenizer& tokenizer, std::optional<TokenId> id) {
  return id ? tokenizer.piece(*id) : std::string_view();
}

}  // namespace

struct ChatTemplate::Handle {
  pt_template* compiled = nullptr;
  std::string source;

  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { pt_template_free(compiled); }
};

ChatTemplate::ChatTemplate(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::create(std::string_view source, const Tokenizer& tokenizer) {
  if (source.empty()) {
    return failure(ErrorCode::kNotFound,
                   "this model has no chat template: use /v1/completions, or start the server with "
                   "--chat-template FILE");
  }
  const std::string_view bos = spelling(tokenizer, tokenizer.bos());
  const std::string_view eos = spelling(tokenizer, tokenizer.eos());
  auto handle = std::make_unique<Handle>();
  handle->source = source;
  handle->compiled = pt_template_new(source.data(), source.size(), bos.data(), bos.size(),
                                     eos.data(), eos.size());
  if (handle->compiled == nullptr) return rust_failure(ErrorCode::kInvalidFile);
  return ChatTemplate(std::move(handle));
}

Result<RenderedPrompt> ChatTemplate::render(const ChatPrompt& prompt,
                                            const Tokenizer& tokenizer) const {
  const auto json = json_of(prompt);
  if (!json) return std::unexpected(json.error());
  const Context context(pt_context_new(json->data(), json->size()));
  if (context == nullptr) return rust_failure(ErrorCode::kInvalidArgument);
  ContentGuard guard(tokenizer);
  guard.see(handle_->source);
  if (auto guarded = guard_strings(guard, context.get()); !guarded) {
    return std::unexpected(guarded.error());
  }
  std::size_t length = 0;
  char* text = pt_template_render(handle_->compiled, context.get(), &length);
  if (text == nullptr) return rust_failure(ErrorCode::kInvalidArgument);
  RenderedPrompt rendered = guard.reveal(std::string_view(text, length));
  pt_string_free(text, length);
  return rendered;
}

Result<std::vector<TokenId>> encode_chat(const Tokenizer& tokenizer, const RenderedPrompt& prompt) {
  auto ids = tokenizer.encode_around(prompt.text, prompt.literal,
                                     {.add_special = true, .parse_special = true});
  // The answer follows: an EOS that the vocabulary asks for at the end of texts would end it.
  if (ids && tokenizer.adds_eos() && !ids->empty()) ids->pop_back();
  return ids;
}

}  // namespace paternoster::text
