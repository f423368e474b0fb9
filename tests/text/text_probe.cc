// The text layer behind pipes, for the judges in this folder: text_probe MODEL.gguf, then records
// on standard input until it ends. A string is its length (u32, little-endian) and its bytes.
//
//   'T'|'P' text           tokenize without|with control tokens parsed -> "ids|text again\n" in hex
//   'C' template           compile a chat template                         -> "+\n" or "-error\n"
//   'R' prompt n messages  render with the last template -> "+text|ids\n" in hex, or "-error\n"
//       prompt: u8 add_generation_prompt, string tools, string extra; message: role, content, extra
#include <cstdint>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>

#include "model/gguf.h"
#include "model/tokenizer_metadata.h"
#include "text/chat_template.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace {

using paternoster::TokenId;
using namespace paternoster::text;

class Input {
 public:
  bool at_end() const { return at_ == bytes_.size(); }
  unsigned char byte() { return static_cast<unsigned char>(bytes_.at(at_++)); }
  std::uint32_t number() {
    std::uint32_t value = 0;
    for (int shift = 0; shift < 32; shift += 8) value |= std::uint32_t{byte()} << shift;
    return value;
  }
  std::string string() {
    const std::uint32_t length = number();
    std::string text = bytes_.substr(at_, length);
    at_ += length;
    return text;
  }

 private:
  std::string bytes_{std::istreambuf_iterator<char>(std::cin), {}};
  std::size_t at_ = 0;
};

std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char character : bytes) {
    const auto value = static_cast<unsigned char>(character);
    out += kDigits[value >> 4];
    out += kDigits[value & 15];
  }
  return out;
}

std::string joined(const std::vector<TokenId>& ids) {
  std::string out;
  for (const TokenId id : ids) out += std::to_string(id) + " ";
  return out;
}

std::string tokenized(const Tokenizer& tokenizer, const std::string& text, bool parse_special) {
  const auto ids =
      tokenizer.encode(text, {.add_special = false, .parse_special = parse_special});
  if (!ids) return "-" + ids.error().message;
  Detokenizer detokenizer(tokenizer, {.keep_control = true});
  std::string again;
  for (const TokenId id : *ids) again += detokenizer.push(id);
  again += detokenizer.flush();
  return joined(*ids) + "|" + hex(again);
}

ChatPrompt read_prompt(Input& input) {
  ChatPrompt prompt;
  prompt.add_generation_prompt = input.byte() != 0;
  prompt.tools_json = input.string();
  prompt.extra_json = input.string();
  prompt.messages.resize(input.number());
  for (ChatMessage& message : prompt.messages) {
    message.role = input.string();
    message.content = input.string();
    message.extra_json = input.string();
  }
  return prompt;
}

std::string rendered(const ChatTemplate& chat, const Tokenizer& tokenizer,
                     const ChatPrompt& prompt) {
  const auto result = chat.render(prompt, tokenizer);
  if (!result) return "-" + result.error().message;
  const auto ids = encode_chat(tokenizer, *result);
  if (!ids) return "-" + ids.error().message;
  return "+" + hex(result->text) + "|" + joined(*ids);
}

Vocabulary vocabulary_of(const paternoster::model::TokenizerMetadata& metadata) {
  Vocabulary vocabulary{.model = metadata.model,
                        .pre = metadata.pre,
                        .tokens = metadata.tokens,
                        .kinds = {},
                        .scores = metadata.scores,
                        .merges = metadata.merges,
                        .bos = metadata.bos,
                        .eos = metadata.eos,
                        .eot = metadata.eot,
                        .eom = metadata.eom,
                        .unknown = metadata.unknown,
                        .padding = metadata.padding,
                        .add_bos = metadata.add_bos,
                        .add_eos = metadata.add_eos,
                        .add_space_prefix = metadata.add_space_prefix};
  for (const auto kind : metadata.kinds) {
    vocabulary.kinds.push_back(static_cast<TokenKind>(kind));
  }
  return vocabulary;
}

int answer(const Tokenizer& tokenizer) {
  Input input;
  std::optional<ChatTemplate> chat;
  while (!input.at_end()) {
    const char verb = static_cast<char>(input.byte());
    if (verb == 'T' || verb == 'P') {
      std::cout << tokenized(tokenizer, input.string(), verb == 'P') << '\n';
    } else if (verb == 'C') {
      auto compiled = ChatTemplate::create(input.string(), tokenizer);
      std::cout << (compiled ? "+" : "-" + compiled.error().message) << '\n';
      chat.reset();
      if (compiled) chat.emplace(*std::move(compiled));
    } else if (verb == 'R') {
      const ChatPrompt prompt = read_prompt(input);
      std::cout << (chat ? rendered(*chat, tokenizer, prompt) : "-no template") << '\n';
    } else {
      std::cerr << "text_probe: unknown verb\n";
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: text_probe MODEL.gguf < records\n";
    return 2;
  }
  const auto file = paternoster::model::GgufFile::open(argv[1]);
  if (!file) {
    std::cerr << file.error().message << '\n';
    return 1;
  }
  const auto metadata = paternoster::model::tokenizer_metadata_of(*file);
  if (!metadata) {
    std::cerr << metadata.error().message << '\n';
    return 1;
  }
  const auto tokenizer = Tokenizer::create(vocabulary_of(*metadata));
  if (!tokenizer) {
    std::cerr << tokenizer.error().message << '\n';
    return 1;
  }
  return answer(*tokenizer);
}
