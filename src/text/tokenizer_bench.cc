// How long texts take, the worst ones included. Real vocabularies are timed through the program:
// these small ones show the loops.
#include <benchmark/benchmark.h>

#include "text/chat_template.h"
#include "text/small_vocabulary.h"
#include "text/tokenizer.h"

namespace {

using namespace paternoster::text;

std::string megabyte_of(std::string_view part) {
  std::string text;
  while (text.size() < 1'000'000) text += part;
  return text;
}

void encode(benchmark::State& state, const SmallVocabulary& small, std::string_view part) {
  const auto tokenizer = Tokenizer::create(small.vocabulary);
  const std::string text = megabyte_of(part);
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer->encode(text, {}));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

BENCHMARK_CAPTURE(encode, byte_level_words, small_byte_level(), "The quick brown fox, 12 hello. ");
BENCHMARK_CAPTURE(encode, byte_level_spaces, small_byte_level(), " ");
BENCHMARK_CAPTURE(encode, byte_level_line_ends, small_byte_level(), " \r\n");
BENCHMARK_CAPTURE(encode, byte_level_one_letter, small_byte_level(), "l");
BENCHMARK_CAPTURE(encode, sentencepiece_words, small_sentencepiece(), "ab abba a b ");
BENCHMARK_CAPTURE(encode, sentencepiece_spaces, small_sentencepiece(), " ");
BENCHMARK_CAPTURE(encode, sentencepiece_one_letter, small_sentencepiece(), "a");

void render_chat(benchmark::State& state) {
  const auto tokenizer = Tokenizer::create(small_byte_level().vocabulary);
  const auto chat = ChatTemplate::create(
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}",
      *tokenizer);
  ChatPrompt prompt;
  for (int i = 0; i < 21; ++i) prompt.messages.push_back({"user", std::string(200, 'x'), ""});
  for (auto _ : state) benchmark::DoNotOptimize(chat->render(prompt, *tokenizer));
}
BENCHMARK(render_chat);

}  // namespace
