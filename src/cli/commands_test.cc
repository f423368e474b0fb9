#include "cli/commands.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace paternoster::cli {
namespace {

std::vector<std::string> seen;

int remember(int argc, char** argv) {
  seen.assign(argv, argv + argc);
  return argv[argc] == nullptr ? 7 : 1;
}

constexpr Command kTable[] = {{"serve", "serves", remember}, {"chat", "chats", remember},
                              {"inspect", "looks", remember}};

int run_words(std::vector<std::string> words) {
  seen.clear();
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  return run_command(kTable, static_cast<int>(words.size()), argv.data());
}

TEST(Commands, ACommandGetsItsArgumentsUnderItsFullName) {
  EXPECT_EQ(run_words({"paternoster", "chat", "--url", "x"}), 7);
  EXPECT_EQ(seen, (std::vector<std::string>{"paternoster chat", "--url", "x"}));
}

TEST(Commands, HelpOfACommandIsTheCommandsOwn) {
  EXPECT_EQ(run_words({"paternoster", "help", "serve"}), 7);
  EXPECT_EQ(seen, (std::vector<std::string>{"paternoster serve", "--help"}));
}

TEST(Commands, HelpAndVersionSucceed) {
  for (const char* word : {"--help", "-h", "help", "--version", "-V"}) {
    EXPECT_EQ(run_words({"paternoster", word}), 0) << word;
  }
}

TEST(Commands, AnUnknownCommandIsAUsageError) {
  EXPECT_EQ(run_words({"paternoster"}), 2);
  EXPECT_EQ(run_words({"paternoster", "srve"}), 2);
  EXPECT_EQ(run_words({"paternoster", "help", "nonsense"}), 2);
  EXPECT_TRUE(seen.empty());
}

TEST(Commands, TheNearestCommandIsSuggestedAndNothingFarAway) {
  EXPECT_EQ(nearest_command(kTable, "srve"), "serve");
  EXPECT_EQ(nearest_command(kTable, "insp"), "inspect");
  EXPECT_EQ(nearest_command(kTable, "cht"), "chat");
  EXPECT_EQ(nearest_command(kTable, "nonsense"), "");
  EXPECT_EQ(nearest_command(kTable, ""), "");
  EXPECT_EQ(nearest_command(kTable, std::string(1000, 's')), "");
}

}  // namespace
}  // namespace paternoster::cli
