// Where a server is: http://HOST[:PORT][/PATH] or https://..., for instance http://127.0.0.1:8080 or
// https://box.lan/llm. A plain value.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace paternoster::client {

struct ServerUrl {
  bool tls = false;
  std::string host;  // without the brackets of an IPv6 address
  std::string port;  // "80" or "443" unless given
  std::string path;  // no slash at the end; "/v1" at the end is dropped
};

Result<ServerUrl> parse_server_url(std::string_view url);

// "http://127.0.0.1:8080/llm"
std::string to_string(const ServerUrl& url);
// What stands in the Host header.
std::string host_header(const ServerUrl& url);

}  // namespace paternoster::client
