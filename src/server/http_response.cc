#include "server/http_response.h"

#include <algorithm>

#include "api/reply_parts.h"

namespace paternoster::server {
namespace {

std::string_view reason_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 204: return "No Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    default: return "Unknown";
  }
}

}  // namespace

Response error_response(const api::ApiError& error) {
  Response response;
  response.status = error.status;
  response.body = api::error_body(error);
  if (error.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.status == 408 || error.hopeless) response.headers.emplace_back("x-should-retry", "false");
  if (error.retry_after_ms > 0) {
    const long long whole = std::clamp<long long>((error.retry_after_ms + 999) / 1000, 1, 60);
    response.headers.emplace_back("Retry-After", std::to_string(whole));
    response.headers.emplace_back("retry-after-ms", std::to_string(error.retry_after_ms));
  }
  return response;
}

std::string response_head(int status, std::string_view content_type, const Headers& headers,
                          const HeadOptions& options) {
  std::string head = options.version == 10 ? "HTTP/1.0 " : "HTTP/1.1 ";
  head += std::to_string(status);
  head += ' ';
  head += reason_of(status);
  head += "\r\n";
  const auto add = [&](std::string_view name, std::string_view value) {
    head += name;
    head += ": ";
    head += value;
    head += "\r\n";
  };
  if (!content_type.empty()) add("Content-Type", content_type);
  if (options.chunked) {
    add("Transfer-Encoding", "chunked");
  } else if (options.length >= 0) {
    add("Content-Length", std::to_string(options.length));
  }
  if (!options.request_id.empty()) add("X-Request-Id", options.request_id);
  for (const auto& [name, value] : headers) add(name, value);
  add("X-Content-Type-Options", "nosniff");
  add("Server", "paternoster");
  if (options.close) {
    add("Connection", "close");
  } else if (options.version == 10) {
    add("Connection", "keep-alive");
  }
  head += "\r\n";
  return head;
}

}  // namespace paternoster::server
