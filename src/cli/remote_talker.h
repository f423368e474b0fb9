// A Talker over HTTP: any OpenAI-compatible server, ours or another. See talker.h for who may call it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/talker.h"

namespace paternoster::cli {

// http://HOST[:PORT][/PATH], for instance http://127.0.0.1:8080 or http://box.lan/llm.
struct ServerUrl {
  std::string host;
  std::string port;  // "80" unless given
  std::string path;  // no slash at the end; "/v1" at the end is dropped
};

Result<ServerUrl> parse_server_url(std::string_view url);

// Cuts server-sent events out of a byte stream that comes in any pieces.
class EventLines {
 public:
  // Adds bytes; calls on_data with the text behind each "data:".
  template <typename OnData>
  void push(std::string_view bytes, OnData&& on_data) {
    rest_ += bytes;
    std::size_t begin = 0;
    for (std::size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      std::string_view line = std::string_view(rest_).substr(begin, end - begin);
      if (line.ends_with('\r')) {
        line.remove_suffix(1);
      }
      if (line.starts_with("data:")) {
        line.remove_prefix(line.starts_with("data: ") ? 6 : 5);
        on_data(line);
      }
    }
    rest_.erase(0, begin);
  }

 private:
  std::string rest_;
};

// Asks /v1/models for the model's name: an error if nobody answers there. api_key may be empty.
Result<std::unique_ptr<Talker>> connect_talker(const ServerUrl& url, const std::string& api_key);

}  // namespace paternoster::cli
