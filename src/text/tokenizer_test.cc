#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "text/small_vocabulary.h"

namespace paternoster::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Ids = std::vector<TokenId>;

constexpr TokenId id_of_byte(char character) {
  return 3 + static_cast<TokenId>(static_cast<unsigned char>(character));
}

constexpr TokenId kHe = 259;
constexpr TokenId kHello = 262;
constexpr TokenId kSpaceW = 263;
constexpr TokenId kSpaceHello = 264;

Tokenizer byte_level(std::string_view pre = "smollm") {
  return *Tokenizer::create(small_byte_level(pre).vocabulary);
}

Tokenizer sentencepiece() { return *Tokenizer::create(small_sentencepiece().vocabulary); }

constexpr EncodeOptions kPlain{.add_special = false, .parse_special = false};
constexpr EncodeOptions kParsed{.add_special = false, .parse_special = true};

TEST(ByteLevelTokenizer, MergesInsideWordsOnly) {
  const Tokenizer tokenizer = byte_level();
  EXPECT_THAT(*tokenizer.encode("hello hello w", kPlain),
              ElementsAre(kHello, kSpaceHello, kSpaceW));
  EXPECT_THAT(*tokenizer.encode("he", kPlain), ElementsAre(kHe));
  EXPECT_THAT(*tokenizer.encode("", kPlain), IsEmpty());
}

TEST(ByteLevelTokenizer, ReadsControlTokensOnlyWhenAsked) {
  const Tokenizer tokenizer = byte_level();
  EXPECT_THAT(*tokenizer.encode("<|im_start|>hello<|im_end|>", kParsed), ElementsAre(0, kHello, 1));
  const Ids plain = *tokenizer.encode("<|im_start|>", kPlain);
  EXPECT_EQ(plain.size(), 12u);
  EXPECT_EQ(*tokenizer.decode(plain), "<|im_start|>");
}

TEST(ByteLevelTokenizer, AlwaysReadsUserDefinedTokens) {
  const Tokenizer tokenizer = byte_level();
  EXPECT_THAT(*tokenizer.encode("<think>hello", kPlain), ElementsAre(2, kHello));
}

TEST(ByteLevelTokenizer, CountsEachIllFormedPartAsOneReplacementCharacter) {
  const Tokenizer tokenizer = byte_level();
  EXPECT_EQ(*tokenizer.encode("a\xE2\x82 b\xFF", kPlain),
            *tokenizer.encode("a\uFFFD b\uFFFD", kPlain));
}

TEST(ByteLevelTokenizer, DropsBytesTheVocabularyLacks) {
  auto small = small_byte_level();
  small.vocabulary.tokens[static_cast<std::size_t>(id_of_byte('x'))] = "not-x";
  const Tokenizer tokenizer = *Tokenizer::create(small.vocabulary);
  EXPECT_THAT(*tokenizer.encode("hxe", kPlain), ElementsAre(kHe));
}

TEST(ByteLevelTokenizer, TakesWholeWordsFirstWhereTheFamilyDoes) {
  auto small = small_byte_level("llama-bpe");
  const TokenId word = small.add("word", TokenKind::kNormal);
  EXPECT_THAT(*Tokenizer::create(small.vocabulary)->encode("word", kPlain), ElementsAre(word));
  small.vocabulary.pre = "gpt-2";
  EXPECT_EQ(Tokenizer::create(small.vocabulary)->encode("word", kPlain)->size(), 4u);
}

TEST(SentencePieceTokenizer, MergesByScoreAndFallsBackToBytes) {
  const Tokenizer tokenizer = sentencepiece();
  EXPECT_THAT(*tokenizer.encode("ab ab", kPlain), ElementsAre(264, 265));
  EXPECT_THAT(*tokenizer.encode("é", kPlain), ElementsAre(267));
  EXPECT_THAT(*tokenizer.encode("ü", kPlain), ElementsAre(3 + 0xC3, 3 + 0xBC));
}

TEST(SentencePieceTokenizer, CutsUserDefinedPiecesOutFirst) {
  const Tokenizer tokenizer = sentencepiece();
  EXPECT_THAT(*tokenizer.encode("a<b>b", kPlain), ElementsAre(261, 259, 262));
  EXPECT_THAT(*tokenizer.encode("a  ab", kPlain), ElementsAre(261, 260, 264));
}

TEST(SentencePieceTokenizer, PutsTheSpacePrefixAtTheStartAndAfterControlTokens) {
  auto small = small_sentencepiece();
  small.vocabulary.add_space_prefix = true;
  const Tokenizer tokenizer = *Tokenizer::create(small.vocabulary);
  EXPECT_THAT(*tokenizer.encode("ab<eos>ab", kParsed), ElementsAre(265, 2, 265));
  EXPECT_EQ(*tokenizer.decode(Ids{265, 265}), "ab ab");
}

TEST(Tokenizer, AddsOneBosAndNeverTwo) {
  const Tokenizer tokenizer = sentencepiece();
  EXPECT_THAT(*tokenizer.encode("ab", {.add_special = true, .parse_special = true}),
              ElementsAre(1, 264));
  EXPECT_THAT(*tokenizer.encode("<bos>ab", {.add_special = true, .parse_special = true}),
              ElementsAre(1, 264));
  EXPECT_THAT(*tokenizer.encode("", {}), ElementsAre(1));
}

TEST(Tokenizer, KeepsLiteralSpansFromBecomingControlTokens) {
  const Tokenizer tokenizer = byte_level();
  const std::string text = "<|im_end|><|im_end|>";
  const ByteSpan second[] = {{10, 20}};
  const Ids ids = *tokenizer.encode_around(text, second, kParsed);
  EXPECT_EQ(ids.size(), 11u);
  EXPECT_EQ(ids.front(), 1);
}

TEST(Tokenizer, DecodesControlTokensToNothingUnlessAsked) {
  const Tokenizer tokenizer = byte_level();
  EXPECT_EQ(*tokenizer.decode(Ids{0, kHello, 1}), "hello");
  EXPECT_EQ(*tokenizer.decode(Ids{0, kHello, 1}, {.keep_control = true}),
            "<|im_start|>hello<|im_end|>");
}

TEST(Tokenizer, RefusesToDecodeIdsOutsideTheVocabulary) {
  const Tokenizer tokenizer = byte_level();
  EXPECT_THAT(tokenizer.decode(Ids{-1}).error().message, HasSubstr("-1"));
  EXPECT_FALSE(tokenizer.decode(Ids{static_cast<TokenId>(tokenizer.size())}));
}

TEST(Tokenizer, KnowsEveryEndOfGeneration) {
  auto small = small_byte_level();
  const TokenId end = small.add("<|endoftext|>", TokenKind::kControl);
  small.add("</s>", TokenKind::kUserDefined);
  const Tokenizer tokenizer = *Tokenizer::create(small.vocabulary);
  EXPECT_THAT(tokenizer.end_of_generation_ids(), ElementsAre(1, end));
  EXPECT_TRUE(tokenizer.is_end_of_generation(end));
}

TEST(Tokenizer, NamesWhatIsWrongWithAVocabulary) {
  const auto message_of = [](const Vocabulary& vocabulary) {
    const auto made = Tokenizer::create(vocabulary);
    return made ? std::string() : made.error().message;
  };
  auto small = small_byte_level();
  auto changed = small.vocabulary;
  changed.model = "t5";
  EXPECT_THAT(message_of(changed), HasSubstr("t5"));
  changed = small.vocabulary;
  changed.pre = "nobody-knows";
  EXPECT_THAT(message_of(changed), HasSubstr("nobody-knows"));
  changed = small.vocabulary;
  changed.merges.push_back("nospace");
  EXPECT_THAT(message_of(changed), HasSubstr("merges[6]"));
  changed = small.vocabulary;
  changed.eos = 100000;
  EXPECT_THAT(message_of(changed), HasSubstr("eos"));
  changed = small.vocabulary;
  changed.kinds.pop_back();
  EXPECT_THAT(message_of(changed), HasSubstr("token_type"));
  changed = Vocabulary{};
  changed.model = "gpt2";
  EXPECT_THAT(message_of(changed), HasSubstr("tokens"));
  auto pieces = small_sentencepiece();
  pieces.vocabulary.scores.pop_back();
  EXPECT_THAT(message_of(pieces.vocabulary), HasSubstr("scores"));
}

// These end at once, or not within the life of a test: no time is asserted.
TEST(Tokenizer, TakesAMegabyteOfAnything) {
  const Tokenizer tokenizers[] = {byte_level(), byte_level("llama-bpe"), byte_level("deepseek-llm"),
                                  byte_level("kimi-k2"), byte_level("tiny_aya"), sentencepiece()};
  for (const std::string_view part : {" ", " \r\n", "a", "ab", "A", "0", "中", "é", "<|im_start|",
                                      "<", "\xFF", "hello ", "\t", "\n", "'", "a\u0301"}) {
    std::string text;
    while (text.size() < 1'000'000) text += part;
    text += "x";
    for (const Tokenizer& tokenizer : tokenizers) {
      const auto ids = tokenizer.encode(text, kParsed);
      ASSERT_TRUE(ids) << part << ": " << ids.error().message;
      EXPECT_FALSE(ids->empty());
    }
  }
}

TEST(Tokenizer, GivesTheSameIdsOnEveryThread) {
  const Tokenizer tokenizer = byte_level();
  const std::string text = "hello hello w 123 <think> \n\n x";
  const Ids expected = *tokenizer.encode(text, kPlain);
  std::vector<std::thread> threads;
  std::vector<Ids> found(4);
  for (Ids& ids : found) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) ids = *tokenizer.encode(text, kPlain);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Ids& ids : found) EXPECT_EQ(ids, expected);
}

}  // namespace
}  // namespace paternoster::text
