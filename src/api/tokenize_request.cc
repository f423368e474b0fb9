#include "api/chat_messages.h"
#include "api/field_reader.h"
#include "api/request.h"

namespace paternoster::api {
namespace {

constexpr std::size_t kMostDetokenized = 1 << 20;

}  // namespace

ApiResult<TokenizeAsk> parse_tokenize(std::string_view body) {
  const auto object = parse_object(body);
  if (!object) return std::unexpected(object.error());
  FieldReader fields(*object);
  TokenizeAsk ask;
  if (fields.find("messages") != nullptr) {
    ChatPrompt chat;
    read_messages(fields, chat.messages);
    fields.read("add_generation_prompt", chat.add_generation_prompt);
    ask.prompt = std::move(chat);
  } else {
    // llama.cpp says `content` and adds no BOS unless told; vLLM says `prompt` and adds it.
    TextPrompt text;
    const bool theirs = fields.read("content", text.text);
    const bool given = fields.read("prompt", text.text) || theirs;
    if (!given && !fields.failed()) fields.fail_value("prompt", "must be given");
    ask.add_special_tokens = !theirs;
    fields.read("add_special", ask.add_special_tokens);
    fields.read("add_special_tokens", ask.add_special_tokens);
    ask.prompt = std::move(text);
  }
  fields.read("with_pieces", ask.with_pieces);
  fields.read("return_token_strs", ask.return_token_strs);
  if (fields.failed()) return std::unexpected(fields.take_error());
  return ask;
}

ApiResult<std::vector<TokenId>> parse_detokenize(std::string_view body) {
  const auto object = parse_object(body);
  if (!object) return std::unexpected(object.error());
  FieldReader fields(*object);
  std::vector<TokenId> tokens;
  if (!fields.read("tokens", kMostDetokenized, tokens) && !fields.failed()) {
    fields.fail_value("tokens", "must be given");
  }
  if (fields.failed()) return std::unexpected(fields.take_error());
  return tokens;
}

}  // namespace paternoster::api
