#include "client/response_reader.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <charconv>

namespace paternoster::client {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using Failure = beast::error_code;

namespace {

constexpr std::uint32_t kMostHeadBytes = 64 * 1024;

std::int64_t number_in(beast::string_view text) {
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc() && end == text.data() + text.size() && value > 0 && value < 1'000'000'000 ? value : 0;
}

}  // namespace

// Beast calls it with each part of the message.
class ResponseReader::Parser final : public http::basic_parser<false> {
 public:
  Parser() {
    eager(true);
    body_limit(boost::none);
    header_limit(kMostHeadBytes);
  }

  ResponseHead head;
  const OnBody* on_body = nullptr;

 private:
  void on_request_impl(http::verb, beast::string_view, beast::string_view, int, Failure&) override {}
  void on_response_impl(int code, beast::string_view, int, Failure&) override { head.status = code; }
  void on_field_impl(http::field name, beast::string_view spelled, beast::string_view value, Failure&) override {
    if (name == http::field::content_type) {
      head.event_stream = beast::iequals(value.substr(0, 17), "text/event-stream");
    } else if (name == http::field::retry_after && head.retry_after_ms == 0) {
      head.retry_after_ms = number_in(value) * 1000;
    } else if (beast::iequals(spelled, "retry-after-ms")) {
      if (const std::int64_t exact = number_in(value); exact > 0) head.retry_after_ms = exact;
    } else if (beast::iequals(spelled, "x-request-id")) {
      head.request_id.assign(value.data(), value.size());
    }
  }
  void on_header_impl(Failure&) override { head.keep_alive = keep_alive(); }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, Failure&) override {}
  std::size_t on_body_impl(beast::string_view body, Failure&) override { return take(body); }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, Failure&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body, Failure&) override { return take(body); }
  void on_finish_impl(Failure&) override {}

  std::size_t take(beast::string_view body) {
    if (on_body != nullptr && !body.empty()) (*on_body)({body.data(), body.size()});
    return body.size();
  }
};

ResponseReader::ResponseReader() : parser_(std::make_unique<Parser>()) {}
ResponseReader::~ResponseReader() = default;

ResponseReader::Status ResponseReader::feed(std::string_view bytes, const OnBody& on_body) {
  begun_ = begun_ || !bytes.empty();
  const bool kept = !rest_.empty();
  if (kept) rest_ += bytes;
  std::string_view input = kept ? std::string_view(rest_) : bytes;
  for (;;) {
    parser_->on_body = &on_body;
    Failure failure;
    while (!input.empty() && !parser_->is_done() && !failure) {
      const std::size_t used = parser_->put(boost::asio::buffer(input.data(), input.size()), failure);
      input.remove_prefix(used);
      if (used == 0 && !failure) break;
    }
    if (parser_->is_done() && parser_->head.status / 100 == 1 && parser_->head.status != 101) {
      parser_ = std::make_unique<Parser>();
      if (!input.empty()) continue;
    }
    if (failure && failure != http::error::need_more) {
      error_ = "the answer is not valid HTTP: " + failure.message();
      return Status::kBad;
    }
    break;
  }
  if (parser_->is_done()) return Status::kDone;
  if (input.size() > kMostHeadBytes) {
    error_ = "the answer's head is larger than 64 KiB";
    return Status::kBad;
  }
  rest_ = std::string(input);  // not a move: `input` may look into rest_
  return Status::kMore;
}

ResponseReader::Status ResponseReader::end() {
  Failure failure;
  if (begun_ && parser_->is_header_done() && !parser_->is_done()) parser_->put_eof(failure);
  if (parser_->is_done() && !failure) return Status::kDone;
  error_ = begun_ ? "the server closed the connection in mid-answer"
                  : "the server closed the connection without an answer";
  return Status::kBad;
}

bool ResponseReader::head_done() const { return parser_->is_header_done() && parser_->head.status / 100 != 1; }
bool ResponseReader::begun() const { return begun_; }
const ResponseHead& ResponseReader::head() const { return parser_->head; }
std::string ResponseReader::error() const { return error_; }

}  // namespace paternoster::client
