// Any ids: every part that comes out is well-formed, and together they are what decode gives.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "text/detokenizer.h"
#include "text/small_vocabulary.h"
#include "text/stop_matcher.h"
#include "text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paternoster;
  using namespace paternoster::text;
  static const Tokenizer kByteLevel = *Tokenizer::create(small_byte_level().vocabulary);
  static const Tokenizer kPieces = *Tokenizer::create(small_sentencepiece().vocabulary);
  if (size < 2) return 0;
  const Tokenizer& tokenizer = (data[0] & 1) != 0 ? kByteLevel : kPieces;
  const DecodeOptions options{.keep_control = (data[0] & 2) != 0};
  const std::size_t stop_length = data[1] % 5;
  const std::string stop(reinterpret_cast<const char*>(data) + 2, std::min(stop_length, size - 2));

  std::vector<TokenId> ids;
  for (std::size_t i = 2; i < size; ++i) {
    // Mostly byte tokens: they make and break characters.
    ids.push_back(data[i] == 0xFF ? static_cast<TokenId>(i % tokenizer.size()) : 3 + data[i]);
  }
  Detokenizer detokenizer(tokenizer, options);
  StopMatcher stops({stop});
  std::string streamed;
  std::string given;
  for (const TokenId id : ids) {
    const std::string part = detokenizer.push(id);
    PATERNOSTER_CHECK(utf8_valid_prefix(part) == part.size());
    streamed += part;
    stops.push(part, given);
  }
  const std::string last = detokenizer.flush();
  streamed += last;
  stops.push(last, given);
  given += stops.flush();
  PATERNOSTER_CHECK(streamed == *tokenizer.decode(ids, options));
  const std::size_t found = stop.empty() ? std::string::npos : streamed.find(stop);
  PATERNOSTER_CHECK(stops.match().has_value() == (found != std::string::npos));
  PATERNOSTER_CHECK(given == streamed.substr(0, found));
  return 0;
}
