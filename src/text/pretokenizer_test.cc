#include "text/pretokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/pretokenizer_table.h"

namespace paternoster::text {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> words(std::string_view rule, std::string_view text) {
  const auto pretokenizer = Pretokenizer::create((*word_rule(rule))->expressions);
  std::vector<ByteSpan> spans;
  EXPECT_TRUE(pretokenizer->cut(text, spans));
  std::vector<std::string> result;
  for (const ByteSpan span : spans) {
    result.emplace_back(text.substr(span.begin, span.end - span.begin));
  }
  return result;
}

TEST(Pretokenizer, CutsAsEachFamilyDoes) {
  EXPECT_THAT(words("gpt-2", "It's 123  x"), ElementsAre("It", "'s", " 123", " ", " x"));
  EXPECT_THAT(words("smollm", "a 12"), ElementsAre("a", " ", "1", "2"));
  EXPECT_THAT(words("llama-bpe", "WE'LL 12345\n\n x"),
              ElementsAre("WE", "'LL", " ", "123", "45", "\n\n", " x"));
  EXPECT_THAT(words("qwen2", "x12"), ElementsAre("x", "1", "2"));
  EXPECT_THAT(words("tekken", "CamelCase"), ElementsAre("Camel", "Case"));
  EXPECT_THAT(words("gpt-4o", "HTTPServer's"), ElementsAre("HTTPServer's"));
  EXPECT_THAT(words("kimi-k2", "ab中文Cd"), ElementsAre("ab", "中文", "Cd"));
  EXPECT_THAT(words("deepseek-v3", "1234中文ab"), ElementsAre("123", "4", "中文", "ab"));
}

TEST(Pretokenizer, GroupsDigitsFromTheRightWhereTheFamilyDoes) {
  EXPECT_THAT(words("superbpe", "1234567"), ElementsAre("1", "234", "567"));
  EXPECT_THAT(words("superbpe", "123"), ElementsAre("123"));
  EXPECT_THAT(words("tiny_aya", "x 12345"), ElementsAre("x", " ", "12", "345"));
  EXPECT_THAT(words("tiny_aya", "12345x"), ElementsAre("123", "45", "x"));
}

TEST(Pretokenizer, DoesNotCountTheMongolianVowelSeparatorAsSpace) {
  EXPECT_THAT(words("gpt-2", "a\u180Eb"), ElementsAre("a", "\u180E", "b"));
  EXPECT_THAT(words("gpt-2", "\u180E!"), ElementsAre("\u180E!"));
}

TEST(Pretokenizer, CompilesEveryRuleAndLosesNothing) {
  const std::string_view text = "Aé 中文 ｱ 12345x  \r\n\t'LL ... \u0301 \u2028 <sentinel:1>IMGIMGABZ ";
  for (const std::string_view name : word_rule_names()) {
    std::string joined;
    for (const std::string& word : words(name, text)) {
      EXPECT_FALSE(word.empty()) << name;
      joined += word;
    }
    EXPECT_EQ(joined, text) << name;
  }
}

}  // namespace
}  // namespace paternoster::text
