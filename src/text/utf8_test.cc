#include "text/utf8.h"

#include <gtest/gtest.h>

namespace paternoster::text {
namespace {

TEST(Utf8, CountsMaximalIllFormedPartsOnce) {
  EXPECT_EQ(repair_utf8("\xE2\x82 x"), "\uFFFD x");
  EXPECT_EQ(repair_utf8("\xF0\x9F\x98"), "\uFFFD");
  EXPECT_EQ(repair_utf8("\xC0\x80"), "\uFFFD\uFFFD");                       // overlong
  EXPECT_EQ(repair_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");              // surrogate
  EXPECT_EQ(repair_utf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // above U+10FFFF
  EXPECT_EQ(repair_utf8("a\xFF"), "a\uFFFD");
}

TEST(Utf8, LeavesEveryCharacterAsItIs) {
  for (char32_t point = 0; point <= 0x10FFFF; point += point < 0x11000 ? 1 : 97) {
    if (point >= 0xD800 && point < 0xE000) continue;
    std::string text;
    append_utf8(text, point);
    ASSERT_EQ(utf8_valid_prefix(text), text.size()) << std::hex << static_cast<unsigned>(point);
    ASSERT_EQ(utf8_code_point(text), point);
    ASSERT_EQ(repair_utf8(text), text);
  }
}

TEST(Utf8, TellsUnfinishedFromIllFormed) {
  EXPECT_EQ(utf8_step("\xF0\x9F").kind, Utf8Step::Kind::kUnfinished);
  EXPECT_EQ(utf8_step("\xF0\x1F").kind, Utf8Step::Kind::kIllFormed);
  EXPECT_EQ(utf8_step("\x80").kind, Utf8Step::Kind::kIllFormed);
}

}  // namespace
}  // namespace paternoster::text
