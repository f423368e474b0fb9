#include "client/response_reader.h"

#include <gtest/gtest.h>

namespace paternoster::client {
namespace {

using Status = ResponseReader::Status;

struct Seen {
  Status status = Status::kMore;
  std::string body;
  ResponseHead head;
};

Seen read(std::string_view bytes, std::size_t piece, bool closed = false) {
  ResponseReader reader;
  Seen seen;
  for (; !bytes.empty() && seen.status == Status::kMore; bytes.remove_prefix(std::min(piece, bytes.size()))) {
    seen.status = reader.feed(bytes.substr(0, piece), [&](std::string_view body) { seen.body += body; });
  }
  if (closed && seen.status == Status::kMore) seen.status = reader.end();
  seen.head = reader.head();
  return seen;
}

TEST(ResponseReader, ReadsEveryFramingHoweverTheBytesAreCut) {
  const std::string chunked =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n"
      "X-Request-Id: r-1\r\n\r\n5\r\nhello\r\n1;x=y\r\n \r\n5\r\nworld\r\n0\r\n\r\n";
  const std::string counted =
      "HTTP/1.1 503 No\r\nContent-Length: 11\r\nRetry-After: 2\r\nretry-after-ms: 1500\r\n\r\nhello world";
  const std::string until_closed = "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\nhello world";
  const std::string interim = "HTTP/1.1 100 Continue\r\n\r\n" + counted;
  for (std::size_t piece = 1; piece < 200; ++piece) {
    const Seen a = read(chunked, piece);
    ASSERT_EQ(a.status, Status::kDone) << piece;
    ASSERT_EQ(a.body, "hello world") << piece;
    EXPECT_TRUE(a.head.event_stream && a.head.keep_alive && a.head.request_id == "r-1");
    for (const std::string& answer : {counted, interim}) {
      const Seen b = read(answer, piece);
      ASSERT_EQ(b.status, Status::kDone) << piece;
      ASSERT_EQ(b.body, "hello world") << piece;
      EXPECT_EQ(b.head.status, 503);
      EXPECT_EQ(b.head.retry_after_ms, 1500);
    }
    const Seen c = read(until_closed, piece, true);
    ASSERT_EQ(c.status, Status::kDone) << piece;
    ASSERT_EQ(c.body, "hello world") << piece;
    EXPECT_FALSE(c.head.keep_alive);
  }
}

TEST(ResponseReader, WhatIsCutOffIsBad) {
  EXPECT_EQ(read("", 1, true).status, Status::kBad);
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Le", 4, true).status, Status::kBad);
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", 4, true).status, Status::kBad);
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", 9, true).status, Status::kBad);
}

TEST(ResponseReader, WhatIsNotHttpIsBad) {
  EXPECT_EQ(read("SSH-2.0-OpenSSH_9.2\r\n", 3, true).status, Status::kBad);
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 50).status, Status::kBad);
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nX: " + std::string(200'000, 'y'), 1000).status, Status::kBad);
}

}  // namespace
}  // namespace paternoster::client
