#include "cli/remote_talker.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace paternoster::cli {
namespace {

TEST(ServerUrl, HostPortAndPathAreTakenApart) {
  const auto plain = parse_server_url("http://127.0.0.1:8080");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->host + "|" + plain->port + "|" + plain->path, "127.0.0.1|8080|");
  const auto deep = parse_server_url("http://box.lan/llm/v1/");
  ASSERT_TRUE(deep);
  EXPECT_EQ(deep->host + "|" + deep->port + "|" + deep->path, "box.lan|80|/llm");
  const auto six = parse_server_url("http://[::1]:81/");
  ASSERT_TRUE(six);
  EXPECT_EQ(six->host + "|" + six->port + "|" + six->path, "::1|81|");
}

TEST(ServerUrl, WhatIsNoAddressIsRefused) {
  for (const char* url : {"", "127.0.0.1:8080", "https://x", "http://", "http://:80", "http://x:",
                          "http://x:8o", "ftp://x"}) {
    EXPECT_FALSE(parse_server_url(url)) << url;
  }
}

TEST(EventLines, EventsAreTheSameHoweverTheBytesAreCut) {
  const std::string stream = "data: {\"a\":1}\n\n: ping\n\ndata:two\r\n\r\nevent: x\ndata: [DONE]\n\n";
  const std::vector<std::string> wanted{"{\"a\":1}", "two", "[DONE]"};
  for (std::size_t cut = 1; cut <= stream.size(); ++cut) {
    EventLines lines;
    std::vector<std::string> seen;
    for (std::size_t at = 0; at < stream.size(); at += cut) {
      lines.push(std::string_view(stream).substr(at, cut),
                 [&](std::string_view data) { seen.emplace_back(data); });
    }
    EXPECT_EQ(seen, wanted) << cut;
  }
}

}  // namespace
}  // namespace paternoster::cli
