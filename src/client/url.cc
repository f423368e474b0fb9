#include "client/url.h"

namespace paternoster::client {
namespace {

std::string_view without_slashes(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// No byte that could end a line of a request or change what it means.
bool is_plain(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '@') return false;
  }
  return true;
}

}  // namespace

Result<ServerUrl> parse_server_url(std::string_view url) {
  ServerUrl parsed;
  parsed.tls = url.starts_with("https://");
  if (!parsed.tls && !url.starts_with("http://")) {
    return failure(ErrorCode::kInvalidArgument,
                   "`" + std::string(url) + "` is not an address of the form http://HOST[:PORT]");
  }
  parsed.port = parsed.tls ? "443" : "80";
  std::string_view rest = url.substr(parsed.tls ? 8 : 7);
  if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
    std::string_view path = without_slashes(rest.substr(slash));
    if (path.ends_with("/v1")) path = without_slashes(path.substr(0, path.size() - 3));
    parsed.path = path;
    rest = rest.substr(0, slash);
  }
  const auto bracket = rest.find(']');  // [::1]:8080
  const auto colon = rest.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    parsed.port = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  parsed.host = rest;
  if (parsed.host.empty() || !is_port(parsed.port) || !is_plain(parsed.host) || !is_plain(parsed.path)) {
    return failure(ErrorCode::kInvalidArgument, "`" + std::string(url) + "` names no host and port");
  }
  return parsed;
}

std::string host_header(const ServerUrl& url) {
  const bool v6 = url.host.find(':') != std::string::npos;
  return (v6 ? "[" + url.host + "]" : url.host) + ":" + url.port;
}

std::string to_string(const ServerUrl& url) {
  return (url.tls ? "https://" : "http://") + host_header(url) + url.path;
}

}  // namespace paternoster::client
