#include "server/http_request.h"

#include <gtest/gtest.h>

namespace paternoster::server {
namespace {

using Status = RequestReader::Status;

constexpr std::string_view kPost =
    "POST /v1/x%20y?q=1 HTTP/1.1\r\nHost: h:1\r\nContent-Length: 5\r\nX-Api-Key: k\r\n\r\nhello";

TEST(RequestReader, TakesARequestInPiecesOfAnySize) {
  for (std::size_t size = 1; size <= kPost.size(); ++size) {
    RequestReader reader({});
    std::string input;
    Status status = Status::kMore;
    for (std::size_t at = 0; at < kPost.size(); at += size) {
      input += kPost.substr(at, size);
      do {
        status = reader.feed(input);
      } while (status == Status::kHead);
    }
    ASSERT_EQ(status, Status::kDone) << size;
    EXPECT_EQ(reader.request().path, "/v1/x y");
    EXPECT_EQ(reader.request().host, "h:1");
    EXPECT_EQ(reader.request().api_key, "k");
    EXPECT_EQ(reader.request().body, "hello");
  }
}

TEST(RequestReader, LeavesTheNextRequestAlone) {
  RequestReader reader({});
  std::string input = "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\n";
  EXPECT_EQ(reader.feed(input), Status::kDone);
  EXPECT_EQ(input, "GET /b HTTP/1.1\r\n");
}

TEST(RequestReader, BoundsHeadAndBody) {
  RequestReader large_body({1024, 100});
  std::string input = "POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n";
  EXPECT_EQ(large_body.feed(input), Status::kBad);
  EXPECT_EQ(large_body.error().status, 413);

  RequestReader chunked({1024, 100});
  input = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 20; ++i) input += "a\r\n0123456789\r\n";
  Status status = chunked.feed(input);
  while (status == Status::kHead) status = chunked.feed(input);
  EXPECT_EQ(status, Status::kBad);
  EXPECT_EQ(chunked.error().status, 413);

  RequestReader large_head({1024, 100});
  input = "GET / HTTP/1.1\r\nX: " + std::string(5000, 'x');
  EXPECT_EQ(large_head.feed(input), Status::kBad);
  EXPECT_EQ(large_head.error().status, 431);
}

TEST(RequestReader, RefusesTwoLengths) {
  for (const char* head : {"Content-Length: 5\r\nContent-Length: 6\r\n",
                           "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                           "Content-Length: -1\r\n", "Content-Length: 99999999999999999999\r\n"}) {
    RequestReader reader({});
    std::string input = std::string("POST / HTTP/1.1\r\n") + head + "\r\n";
    EXPECT_EQ(reader.feed(input), Status::kBad) << head;
  }
}

}  // namespace
}  // namespace paternoster::server
