#include "cli/terminal.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace paternoster::cli {
namespace {

TEST(Printable, TextPassesAndCommandsToTheTerminalDoNot) {
  EXPECT_EQ(printable("plain\n\ttext"), "plain\n\ttext");
  EXPECT_EQ(printable("\x1b[31mred\x1b]0;title\x07"), "[31mred]0;title");
  EXPECT_EQ(printable("a\rb\x7f\x08"), "ab");
}

TEST(Printable, Utf8PassesAndC1ControlsDoNot) {
  EXPECT_EQ(printable("größe 中文 🎉"), "größe 中文 🎉");
  EXPECT_EQ(printable("x\xC2\x9B" "31m\xC2\xA0y"), "x31m\xC2\xA0y");
}

TEST(InterruptWatch, AnInterruptIsTakenOnceAndDoesNotEndTheProcess) {
  InterruptWatch watch;
  EXPECT_FALSE(take_interrupt());
  raise(SIGINT);
  EXPECT_TRUE(take_interrupt());
  EXPECT_FALSE(take_interrupt());
}

}  // namespace
}  // namespace paternoster::cli
