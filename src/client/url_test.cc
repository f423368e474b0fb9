#include "client/url.h"

#include <gtest/gtest.h>

namespace paternoster::client {
namespace {

std::string shown(std::string_view url) {
  const auto parsed = parse_server_url(url);
  return parsed ? to_string(*parsed) : "refused";
}

TEST(ServerUrl, KnowsSchemesPortsAndPaths) {
  EXPECT_EQ(shown("http://127.0.0.1:8080"), "http://127.0.0.1:8080");
  EXPECT_EQ(shown("http://box.lan"), "http://box.lan:80");
  EXPECT_EQ(shown("https://box.lan/llm/"), "https://box.lan:443/llm");
  EXPECT_EQ(shown("http://[::1]:9000/v1"), "http://[::1]:9000");
  EXPECT_EQ(shown("https://box/a/v1/"), "https://box:443/a");
}

TEST(ServerUrl, RefusesWhatNamesNoServer) {
  for (const char* url : {"", "box", "ftp://box", "http://", "http://:80", "http://box:", "http://box:x",
                          "http://box:123456", "http://a b", "http://box/\r\nX: y", "http://key@box"}) {
    EXPECT_EQ(shown(url), "refused") << url;
  }
}

}  // namespace
}  // namespace paternoster::client
