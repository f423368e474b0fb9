// Any text, split anywhere into literal spans: ids are valid, and decode gives the text back.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "text/small_vocabulary.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace {

using namespace paternoster;
using namespace paternoster::text;

const Tokenizer& tokenizer_number(unsigned number) {
  static const Tokenizer kTokenizers[] = {
      *Tokenizer::create(small_byte_level("smollm").vocabulary),
      *Tokenizer::create(small_byte_level("llama-bpe").vocabulary),
      *Tokenizer::create(small_byte_level("kimi-k2").vocabulary),
      *Tokenizer::create(small_sentencepiece().vocabulary)};
  return kTokenizers[number % 4];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const Tokenizer& tokenizer = tokenizer_number(data[0]);
  const EncodeOptions options{.add_special = false, .parse_special = (data[0] & 4) != 0};
  const std::string text(reinterpret_cast<const char*>(data) + 3, size - 3);
  const std::string repaired = repair_utf8(text);
  const ByteSpan literal[] = {{data[1] % (repaired.size() + 1), repaired.size()}};

  const auto ids = tokenizer.encode(text, options);
  const auto around = tokenizer.encode_around(repaired, literal, options);
  PATERNOSTER_CHECK(ids.has_value() && around.has_value());
  for (const TokenId id : *ids) PATERNOSTER_CHECK(tokenizer.is_valid(id));
  // To SentencePiece a literal U+2581 is a space.
  if (repaired.find("\xE2\x96\x81") != std::string::npos) return 0;
  PATERNOSTER_CHECK(*tokenizer.decode(*ids, {.keep_control = true}) == repaired);
  PATERNOSTER_CHECK(*tokenizer.decode(*around, {.keep_control = true}) == repaired);
  return 0;
}
