// Heads of HTTP responses, as text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/error.h"

namespace paternoster::server {

using Headers = std::vector<std::pair<std::string_view, std::string>>;

struct Response {
  int status = 200;
  std::string_view content_type = "application/json";  // empty: no body
  std::string body;
  Headers headers;
};

// With Retry-After in whole seconds, 1 to 60, and retry-after-ms if the error says when to come again.
Response error_response(const api::ApiError& error);

// The head up to and including the empty line. Beside the given headers: what every response has.
struct HeadOptions {
  int version = 11;
  bool close = false;
  bool chunked = false;  // else `length` is told, if not negative
  long long length = -1;
  std::string_view request_id;
};
std::string response_head(int status, std::string_view content_type, const Headers& headers,
                          const HeadOptions& options);

}  // namespace paternoster::server
