#include "server/http_request.h"

#include <algorithm>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace paternoster::server {

namespace http = boost::beast::http;

namespace {

using Parser = http::request_parser<http::string_body>;

std::string text_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

api::ApiError error_of(const boost::beast::error_code& code, const HttpLimits& limits) {
  if (code == http::error::body_limit) {
    return api::invalid_request(413, "body_too_large", "The body is larger than " +
                                              std::to_string(limits.body_bytes) + " bytes.");
  }
  if (code == http::error::header_limit) {
    return api::invalid_request(431, "headers_too_large", "The headers are larger than " +
                                                 std::to_string(limits.head_bytes) + " bytes.");
  }
  return api::invalid_request(400, "invalid_http", "The request is not valid HTTP: " + code.message() + ".");
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string path_of(std::string_view target) {
  target = target.substr(0, target.find_first_of("?#"));
  std::string path;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const bool coded = target[i] == '%' && i + 2 < target.size();
    const int high = coded ? hex_digit(target[i + 1]) : -1;
    const int low = coded ? hex_digit(target[i + 2]) : -1;
    if (high < 0 || low < 0) {
      path += target[i];
      continue;
    }
    path += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return path;
}

}  // namespace

struct RequestReader::Impl {
  explicit Impl(HttpLimits bounds) : limits(bounds) { reset(); }

  void reset() {
    parser.emplace();
    parser->header_limit(limits.head_bytes);
    parser->body_limit(limits.body_bytes);
    request = {};
    head_told = false;
    begun = false;
  }

  void take_head() {
    const auto& message = parser->get();
    request.method = text_of(message.method_string());
    request.path = path_of(text_of(message.target()));
    request.version = static_cast<int>(message.version());
    request.keep_alive = parser->keep_alive();
    request.expects_continue =
        boost::beast::iequals(message[http::field::expect], "100-continue") && message.version() >= 11;
    request.has_body = parser->chunked() || parser->content_length().value_or(0) > 0;
    request.host = text_of(message[http::field::host]);
    request.origin = text_of(message[http::field::origin]);
    request.content_type = text_of(message[http::field::content_type]);
    request.authorization = text_of(message[http::field::authorization]);
    request.api_key = text_of(message["x-api-key"]);
    request.request_id = text_of(message["x-request-id"]);
    request.if_none_match = text_of(message[http::field::if_none_match]);
    request.caller = {text_of(message["x-priority"]), text_of(message["x-request-timeout-ms"]),
                      text_of(message["x-gateway-inference-fairness-id"]),
                      text_of(message["x-gateway-inference-objective"])};
  }

  HttpLimits limits;
  std::optional<Parser> parser;
  HttpRequest request;
  api::ApiError error;
  bool head_told = false;
  bool begun = false;
};

RequestReader::RequestReader(HttpLimits limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestReader::~RequestReader() = default;

RequestReader::Status RequestReader::feed(std::string& input) {
  Impl& impl = *impl_;
  Parser& parser = *impl.parser;
  std::size_t used = 0;
  Status status = Status::kMore;
  while (status == Status::kMore && used < input.size()) {
    impl.begun = true;
    boost::beast::error_code failure;
    const std::size_t taken =
        parser.put(boost::asio::buffer(input.data() + used, input.size() - used), failure);
    used += taken;
    if (failure == http::error::need_more) {
      // Beast checks the limit only when it gets to see a whole head.
      if (!parser.is_header_done() && input.size() - used > impl.limits.head_bytes) {
        failure = http::error::header_limit;
      } else {
        break;
      }
    }
    if (failure) {
      impl.error = error_of(failure, impl.limits);
      status = Status::kBad;
    } else if (parser.is_header_done() && !impl.head_told) {
      impl.head_told = true;
      impl.take_head();
      if (!parser.is_done()) status = Status::kHead;
    }
    if (!failure && parser.is_done()) {
      impl.request.body = std::move(parser.get().body());
      status = Status::kDone;
    }
    if (taken == 0 && status == Status::kMore) break;
  }
  input.erase(0, used);
  return status;
}

HttpRequest& RequestReader::request() { return impl_->request; }
const api::ApiError& RequestReader::error() const { return impl_->error; }
bool RequestReader::begun() const { return impl_->begun; }
void RequestReader::reset() { impl_->reset(); }

}  // namespace paternoster::server
