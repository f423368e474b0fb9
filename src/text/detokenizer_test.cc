#include "text/detokenizer.h"

#include <gtest/gtest.h>

#include "text/small_vocabulary.h"

namespace paternoster::text {
namespace {

TokenId byte_id(unsigned char byte) { return 3 + byte; }

class DetokenizerTest : public ::testing::Test {
 protected:
  Tokenizer tokenizer_ = *Tokenizer::create(small_byte_level().vocabulary);
  Detokenizer detokenizer_{tokenizer_};
};

TEST_F(DetokenizerTest, HoldsBackAnUnfinishedCharacter) {
  EXPECT_EQ(detokenizer_.push(byte_id(0xF0)), "");
  EXPECT_EQ(detokenizer_.push(byte_id(0x9F)), "");
  EXPECT_EQ(detokenizer_.push(byte_id(0x98)), "");
  EXPECT_EQ(detokenizer_.held(), 3u);
  EXPECT_EQ(detokenizer_.push(byte_id(0x80)), "😀");
  EXPECT_EQ(detokenizer_.flush(), "");
}

TEST_F(DetokenizerTest, WritesAReplacementForABadPartAndGoesOn) {
  EXPECT_EQ(detokenizer_.push(byte_id(0xE2)), "");
  EXPECT_EQ(detokenizer_.push(byte_id('x')), "\uFFFDx");
  EXPECT_EQ(detokenizer_.push(byte_id(0x80)), "\uFFFD");
}

TEST_F(DetokenizerTest, EndsAnUnfinishedCharacterOnFlush) {
  EXPECT_EQ(detokenizer_.push(byte_id(0xC3)), "");
  EXPECT_EQ(detokenizer_.flush(), "\uFFFD");
  EXPECT_EQ(detokenizer_.flush(), "");
}

TEST_F(DetokenizerTest, ForksWithItsState) {
  EXPECT_EQ(detokenizer_.push(byte_id(0xC3)), "");
  Detokenizer other = detokenizer_;
  EXPECT_EQ(detokenizer_.push(byte_id(0xA9)), "é");
  EXPECT_EQ(other.push(byte_id(0xA8)), "è");
}

TEST_F(DetokenizerTest, SkipsControlTokensInsideACharacter) {
  EXPECT_EQ(detokenizer_.push(byte_id(0xC3)), "");
  EXPECT_EQ(detokenizer_.push(1), "");
  EXPECT_EQ(detokenizer_.push(byte_id(0xA9)), "é");
}

}  // namespace
}  // namespace paternoster::text
