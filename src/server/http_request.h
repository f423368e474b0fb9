// Bytes from a client to a request: HTTP/1.x through Beast's parser, which shows nowhere else.
//
// Knows no sockets: the connection feeds what has arrived and is told how far that goes. Sizes are
// bounded here; time is the connection's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/error.h"

namespace paternoster::server {

// What headers say of who asks and how much it matters, as they came; empty: not given.
struct CallerHeaders {
  std::string priority;     // x-priority
  std::string timeout_ms;   // x-request-timeout-ms
  std::string fairness_id;  // x-gateway-inference-fairness-id: the tenant
  std::string objective;    // x-gateway-inference-objective: the class
};

struct HttpRequest {
  std::string method;
  std::string path;   // decoded, without the query
  int version = 11;   // 10 or 11
  bool keep_alive = true;
  bool expects_continue = false;
  bool has_body = false;
  std::string host;
  std::string origin;
  std::string content_type;
  std::string authorization;
  std::string api_key;        // x-api-key
  std::string request_id;     // x-request-id
  std::string if_none_match;
  CallerHeaders caller;
  std::string body;

  bool is_head() const { return method == "HEAD"; }
};

struct HttpLimits {
  std::uint32_t head_bytes = 32 * 1024;
  std::uint64_t body_bytes = 8 * 1024 * 1024;
};

class RequestReader {
 public:
  enum class Status : std::uint8_t {
    kMore,  // everything was taken; the request goes on
    kHead,  // told once a request: the head is there, the body not yet
    kDone,  // the request is whole; the rest of the input is the next one's
    kBad,   // error() says why; the connection must end
  };

  explicit RequestReader(HttpLimits limits);
  ~RequestReader();

  // Takes from the front of `input` what belongs to this request.
  Status feed(std::string& input);
  // After kHead: all but the body. After kDone: all.
  HttpRequest& request();
  const api::ApiError& error() const;
  bool begun() const;  // some byte of a request has been seen
  void reset();        // for the next request

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace paternoster::server
