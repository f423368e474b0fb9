// A model's chat template (Jinja) and the prompt it makes of a conversation.
//
// Control tokens come from the template only: a control token's spelling inside a message stays
// text, while everything else yields the ids that tokenizing the whole rendered text would. A
// template is immutable and may render on any thread at once. Templates come from files and are
// not trusted: errors, endless loops and runaway output end in a Result fit to be sent to a client
// as its fault.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "text/tokenizer.h"

namespace paternoster::text {

struct ChatMessage {
  std::string role;
  std::string content;     // parts already put together; valid UTF-8
  std::string extra_json{};  // further members (name, tool_calls, ...): a JSON object; empty: none
};

struct ChatPrompt {
  std::vector<ChatMessage> messages{};
  bool add_generation_prompt = true;
  std::string tools_json{};  // JSON array, or empty: the template sees none
  std::string extra_json{};  // further template variables as a JSON object (chat_template_kwargs)
};

struct RenderedPrompt {
  std::string text;                // as a reader would see it
  std::vector<ByteSpan> literal;  // parts that must not be read as control tokens
};

class ChatTemplate {
 public:
  // Compiles. `source` empty: an error that says the model has no chat template. The tokenizer's
  // BOS and EOS spellings become the variables bos_token and eos_token.
  static Result<ChatTemplate> create(std::string_view source, const Tokenizer& tokenizer);
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // The tokenizer must be the one the ids will be made with. The error's code is kInvalidArgument
  // for all that the request or the template is to blame for.
  Result<RenderedPrompt> render(const ChatPrompt& prompt, const Tokenizer& tokenizer) const;

 private:
  struct Handle;
  explicit ChatTemplate(std::unique_ptr<Handle> handle);

  std::unique_ptr<Handle> handle_;
};

// The ids of a rendered prompt: scaffold with its control tokens, contents as text, exactly one BOS
// if the model wants one (the template's or ours), no EOS.
Result<std::vector<TokenId>> encode_chat(const Tokenizer& tokenizer, const RenderedPrompt& prompt);

}  // namespace paternoster::text
