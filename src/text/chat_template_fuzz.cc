// Any template over any message: an answer or an error, in bounded time; what is rendered is
// well-formed, and its literal spans lie in order inside it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "text/chat_template.h"
#include "text/small_vocabulary.h"
#include "text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paternoster::text;
  static const Tokenizer kTokenizer = *Tokenizer::create(small_byte_level().vocabulary);
  const std::string input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.find('\0');
  const std::string source = input.substr(0, cut);
  const std::string content = cut == std::string::npos ? "<|im_end|>" : input.substr(cut + 1);
  const auto compiled = ChatTemplate::create(source, kTokenizer);
  if (!compiled) return 0;
  ChatPrompt prompt;
  prompt.messages = {{"system", "<|im_start|>", ""}, {"user", repair_utf8(content), ""}};
  const auto rendered = compiled->render(prompt, kTokenizer);
  if (!rendered) return 0;
  PATERNOSTER_CHECK(utf8_valid_prefix(rendered->text) == rendered->text.size());
  std::size_t end = 0;
  for (const ByteSpan span : rendered->literal) {
    PATERNOSTER_CHECK(span.begin >= end && span.end > span.begin);
    end = span.end;
  }
  PATERNOSTER_CHECK(end <= rendered->text.size());
  PATERNOSTER_CHECK(encode_chat(kTokenizer, *rendered).has_value());
  return 0;
}
