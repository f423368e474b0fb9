#include "text/stop_matcher.h"

#include <gtest/gtest.h>

namespace paternoster::text {
namespace {

struct Outcome {
  std::string text;
  std::optional<std::size_t> stop;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// Pushes `text` in parts of `step` bytes.
Outcome feed(StopMatcher matcher, std::string_view text, std::size_t step) {
  Outcome outcome;
  while (!text.empty()) {
    matcher.push(text.substr(0, step), outcome.text);
    text.remove_prefix(std::min(step, text.size()));
  }
  outcome.text += matcher.flush();
  if (matcher.match()) outcome.stop = matcher.match()->index;
  return outcome;
}

TEST(StopMatcher, HoldsBackOnlyWhatMayBecomeAStop) {
  StopMatcher matcher({"END"});
  std::string out;
  matcher.push("the E", out);
  EXPECT_EQ(out, "the ");
  EXPECT_EQ(matcher.held(), 1u);
  matcher.push("NT", out);
  EXPECT_EQ(out, "the ENT");
  EXPECT_EQ(matcher.held(), 0u);
}

TEST(StopMatcher, TellsWhereTheStopBegins) {
  StopMatcher matcher({"no", "stop"});
  std::string out;
  EXPECT_FALSE(matcher.push("please st", out));
  const auto match = matcher.push("op now", out);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->index, 1u);
  EXPECT_EQ(match->offset, 7u);
  EXPECT_EQ(out, "please ");
  EXPECT_EQ(matcher.flush(), "");
}

TEST(StopMatcher, GivesTheStopItselfWhenAsked) {
  StopMatcher matcher({"."});
  std::string out;
  matcher.push("One. Two", out, true);
  EXPECT_EQ(out, "One.");
}

TEST(StopMatcher, GivesOutTheHeldTextAtTheEnd) {
  EXPECT_EQ(feed(StopMatcher({"abcd"}), "xxabc", 1), (Outcome{"xxabc", std::nullopt}));
  EXPECT_EQ(feed(StopMatcher(), "xyz", 2), (Outcome{"xyz", std::nullopt}));
  EXPECT_EQ(feed(StopMatcher({""}), "xyz", 2), (Outcome{"xyz", std::nullopt}));
}

TEST(StopMatcher, FindsTheSameStopHoweverTheTextIsCut) {
  const std::vector<std::vector<std::string>> lists = {
      {"aab"}, {"abcd", "bc"}, {"ab", "abc"}, {"aba", "bab"}, {"\n\n", "\nUser:"}, {"é", "日本"}};
  const std::vector<std::string> texts = {"aaab",   "xabcy",      "xabcd",     "abx",
                                          "babab",  "a\n\nUser:", "a\nUser:b", "caf\u00e9 日本",
                                          "xaabcd", "bc",         ""};
  for (const auto& list : lists) {
    for (const auto& text : texts) {
      const Outcome whole = feed(StopMatcher(list), text, text.size() + 1);
      for (std::size_t step = 1; step < 5; ++step) {
        EXPECT_EQ(feed(StopMatcher(list), text, step), whole) << text << " by " << step;
      }
    }
  }
}

TEST(StopMatcher, PrefersTheStopThatBeginsFirst) {
  EXPECT_EQ(feed(StopMatcher({"bc", "abcd"}), "abcd", 1), (Outcome{"", 1}));
  EXPECT_EQ(feed(StopMatcher({"bc", "abcd"}), "abcx", 1), (Outcome{"a", 0}));
}

}  // namespace
}  // namespace paternoster::text
