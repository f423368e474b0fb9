#include "server/api_keys.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace paternoster::server {
namespace {

class ApiKeysTest : public testing::Test {
 protected:
  Result<ApiKeys> read(const std::string& text) {
    std::ofstream(file_, std::ios::trunc) << text;
    return ApiKeys::read(file_);
  }
  void TearDown() override { std::filesystem::remove(file_); }

  const std::filesystem::path file_ = std::filesystem::path(testing::TempDir()) /
                                      ("keys-" + std::to_string(::getpid()) + ".txt");
};

TEST_F(ApiKeysTest, ReadsKeysAndTheirTerms) {
  const auto keys = read(
      "# ours\n\n  plain\r\n"
      "full name=alice weight=2 concurrent=4\ttokens-per-minute=600 priority=-1 gateway\n");
  ASSERT_TRUE(keys) << keys.error().message;
  const KeyTerms* full = keys->find("Bearer full", "");
  ASSERT_NE(full, nullptr);
  EXPECT_EQ(full->name, "alice");
  EXPECT_EQ(full->weight, 2);
  EXPECT_EQ(full->most_concurrent, 4);
  EXPECT_EQ(full->tokens_per_minute, 600);
  EXPECT_EQ(full->most_urgent, -1);
  EXPECT_TRUE(full->gateway);
  const KeyTerms* plain = keys->find("", "plain");
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(plain->name.substr(0, 4), "key-");
  EXPECT_EQ(plain->name.size(), 12u);
  EXPECT_EQ(keys->find("Bearer name=alice", ""), nullptr);
  EXPECT_EQ(keys->find("", ""), nullptr);
}

TEST_F(ApiKeysTest, NamesTheLineThatIsWrong) {
  EXPECT_NE(read("a\nb weight=101\n").error().message.find("line 2: weight"), std::string::npos);
  EXPECT_NE(read("a name=x\nb name=x\n").error().message.find("line 2: another key"), std::string::npos);
  EXPECT_NE(read("a\na\n").error().message.find("another key"), std::string::npos);
  EXPECT_NE(read("# nothing\n").error().message.find("no key"), std::string::npos);
}

}  // namespace
}  // namespace paternoster::server
