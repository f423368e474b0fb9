// Bytes from a server to a response: HTTP/1.x through Beast's parser, the body handed on as it comes.
// Knows no sockets. A response of 1xx is passed over.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace paternoster::client {

struct ResponseHead {
  int status = 0;
  bool keep_alive = false;
  bool event_stream = false;  // Content-Type: text/event-stream
  std::string request_id;     // x-request-id
  std::int64_t retry_after_ms = 0;  // 0: not said
};

class ResponseReader {
 public:
  enum class Status : std::uint8_t { kMore, kDone, kBad };
  using OnBody = std::function<void(std::string_view)>;

  ResponseReader();
  ~ResponseReader();

  // The view given to `on_body` is good for the call. What follows the response is not looked at.
  Status feed(std::string_view bytes, const OnBody& on_body);
  // The server has closed the connection: some responses end so, others are cut off (kBad).
  Status end();

  bool head_done() const;
  bool begun() const;  // some byte has been seen
  const ResponseHead& head() const;
  std::string error() const;  // after kBad: one line

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
  std::string rest_;  // a head that has not all come
  std::string error_;
  bool begun_ = false;
};

}  // namespace paternoster::client
