#include "cli/remote_talker.h"

#include <fmt/format.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "cli/terminal.h"
#include "client/event_reader.h"

namespace paternoster::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace json = boost::json;
using boost::system::error_code;
using client::ServerUrl;

constexpr std::size_t kMostErrorBytes = 64 * 1024;

const json::value* find_at(const json::value& value, std::string_view pointer) {
  error_code error;
  return value.find_pointer(pointer, error);
}

std::string text_at(const json::value& value, std::string_view pointer) {
  const json::value* found = find_at(value, pointer);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

std::int64_t number_at(const json::value& value, std::string_view pointer) {
  const json::value* found = find_at(value, pointer);
  return found != nullptr && found->is_int64() ? found->get_int64() : 0;
}

std::string body_for(const Question& question, const std::string& model) {
  json::object body{{"model", model}, {"stream", true}};
  body["stream_options"] = json::object{{"include_usage", true}};
  if (question.turns.empty()) {
    body["prompt"] = question.text;
  } else {
    json::array messages;
    for (const Turn& turn : question.turns) {
      messages.push_back(json::object{{"role", turn.role}, {"content", turn.content}});
    }
    body["messages"] = std::move(messages);
  }
  if (question.max_tokens) {
    body["max_tokens"] = *question.max_tokens;
  }
  if (question.temperature) {
    body["temperature"] = *question.temperature;
  }
  if (question.seed) {
    body["seed"] = *question.seed;
  }
  return json::serialize(body);
}

// One request and its answer, read piece by piece with an eye on Ctrl-C.
class Exchange {
 public:
  Exchange(const ServerUrl& url, const std::string& api_key) : url_(url), api_key_(api_key) {
    parser_.body_limit(boost::none);
  }

  Result<void> send(http::verb verb, std::string_view path, std::string body) {
    const auto unreachable = [&](const error_code& error) {
      return failure(ErrorCode::kUnavailable, fmt::format("no server answers at {}:{} ({})", url_.host,
                                                          url_.port, error.message()));
    };
    error_code error;
    asio::ip::tcp::resolver resolver(io_);
    const auto addresses = resolver.resolve(url_.host, url_.port, error);
    if (error) {
      return unreachable(error);
    }
    std::optional<error_code> connected;
    stream_.async_connect(addresses, [&](error_code result, const auto&) { connected = result; });
    if (!wait_for([&] { return connected.has_value(); }) || *connected) {
      return unreachable(connected.value_or(asio::error::operation_aborted));
    }
    http::request<http::string_body> request(verb, url_.path + std::string(path), 11);
    request.set(http::field::host, fmt::format("{}:{}", url_.host, url_.port));
    request.set(http::field::content_type, "application/json");
    if (!api_key_.empty()) {
      request.set(http::field::authorization, "Bearer " + api_key_);
    }
    request.body() = std::move(body);
    request.prepare_payload();
    http::write(stream_, request, error);
    if (error) {
      return unreachable(error);
    }
    std::optional<error_code> headed;
    http::async_read_header(stream_, buffer_, parser_,
                            [&](error_code result, std::size_t) { headed = result; });
    if (!wait_for([&] { return headed.has_value(); })) {
      return {};
    }
    return *headed ? unreachable(*headed) : Result<void>();
  }

  int status() const { return static_cast<int>(parser_.get().result_int()); }
  bool interrupted() const { return interrupted_; }

  // The next bytes of the body; empty at its end, or when interrupted.
  Result<std::string> read_some() {
    std::string bytes(8192, '\0');
    while (!interrupted_ && !parser_.is_done()) {
      parser_.get().body().data = bytes.data();
      parser_.get().body().size = bytes.size();
      std::optional<error_code> got;
      http::async_read_some(stream_, buffer_, parser_,
                            [&](error_code result, std::size_t) { got = result; });
      if (!wait_for([&] { return got.has_value(); })) {
        break;
      }
      if (*got && *got != http::error::need_buffer) {
        return failure(ErrorCode::kUnavailable, "the server closed the connection in mid-answer");
      }
      bytes.resize(bytes.size() - parser_.get().body().size);
      if (!bytes.empty()) {
        return bytes;
      }
      bytes.resize(8192);
    }
    return std::string();
  }

  Result<std::string> read_all(std::size_t most_bytes) {
    std::string all;
    for (;;) {
      const Result<std::string> bytes = read_some();
      if (!bytes) {
        return bytes;
      }
      all += *bytes;
      if (bytes->empty() || all.size() > most_bytes) {
        return all;
      }
    }
  }

 private:
  // Runs the network until `done`. False after Ctrl-C: the connection is closed then, which the
  // server takes as the end of the request.
  template <typename Condition>
  bool wait_for(Condition done) {
    while (!done()) {
      if (take_interrupt()) {
        interrupted_ = true;
        stream_.close();
      }
      io_.restart();
      io_.run_for(kLookAround);
    }
    return !interrupted_;
  }

  const ServerUrl& url_;
  const std::string& api_key_;
  asio::io_context io_;
  beast::tcp_stream stream_{io_};
  beast::flat_buffer buffer_;
  http::response_parser<http::buffer_body> parser_;
  bool interrupted_ = false;
};

Error refusal(int status, const std::string& body) {
  error_code error;
  const json::value parsed = json::parse(body, error);
  std::string message = error ? "" : text_at(parsed, "/error/message");
  if (message.empty()) {
    message = error ? "" : text_at(parsed, "/error");
  }
  if (message.empty()) {
    message = fmt::format("the server answered with status {}", status);
  }
  return {status < 500 ? ErrorCode::kInvalidArgument : ErrorCode::kUnavailable, message};
}

class RemoteTalker final : public Talker {
 public:
  RemoteTalker(ServerUrl url, std::string api_key, std::string model)
      : url_(std::move(url)), api_key_(std::move(api_key)), model_(std::move(model)) {}

  std::string model() const override { return model_; }

  Result<Answer> answer(const Question& question, const OnText& on_text) override {
    Exchange exchange(url_, api_key_);
    const auto path = question.turns.empty() ? "/v1/completions" : "/v1/chat/completions";
    const Result<void> sent = exchange.send(http::verb::post, path, body_for(question, model_));
    if (!sent && !exchange.interrupted()) {
      return std::unexpected(sent.error());
    }
    Answer answer;
    answer.finish_reason = "cancelled";
    if (exchange.interrupted()) {
      return answer;
    }
    if (exchange.status() != 200) {
      const Result<std::string> body = exchange.read_all(kMostErrorBytes);
      return std::unexpected(refusal(exchange.status(), body.value_or("")));
    }
    return stream(exchange, std::move(answer), on_text);
  }

 private:
  static Result<Answer> stream(Exchange& exchange, Answer answer, const OnText& on_text) {
    client::EventReader events;
    std::optional<Error> broken;
    bool heard = true;
    const auto take = [&](std::string_view data) {
      if (data == "[DONE]" || broken || !heard) {
        return;
      }
      error_code error;
      const json::value event = json::parse(data, error);
      if (error || find_at(event, "/error") != nullptr) {
        broken = error ? Error{ErrorCode::kInternal, "the server sent something that is not JSON"}
                       : refusal(500, std::string(data));
        return;
      }
      heard = take_event(event, answer, on_text);
    };
    while (!broken && heard) {
      const Result<std::string> bytes = exchange.read_some();
      if (!bytes) {
        return std::unexpected(bytes.error());
      }
      if (bytes->empty()) {
        events.finish(take);
        break;
      }
      events.push(*bytes, take);
    }
    if (broken) {
      return std::unexpected(*std::move(broken));
    }
    return answer;
  }

  // False: nobody listens any more.
  static bool take_event(const json::value& event, Answer& answer, const OnText& on_text) {
    if (find_at(event, "/usage/completion_tokens") != nullptr) {
      answer.output_tokens = number_at(event, "/usage/completion_tokens");
      answer.prompt_tokens = number_at(event, "/usage/prompt_tokens");
    }
    std::string text = text_at(event, "/choices/0/delta/content");
    if (text.empty()) {
      text = text_at(event, "/choices/0/text");
    }
    answer.text += text;
    const std::string reason = text_at(event, "/choices/0/finish_reason");
    if (!reason.empty()) {
      answer.finish_reason = reason;
    }
    return text.empty() || on_text(text);
  }

  ServerUrl url_;
  std::string api_key_;
  std::string model_;
};

}  // namespace

Result<std::unique_ptr<Talker>> connect_talker(const ServerUrl& url, const std::string& api_key) {
  if (url.tls) {
    return failure(ErrorCode::kUnsupported, "https is not offered here: use http, or a proxy that speaks both");
  }
  Exchange exchange(url, api_key);
  if (const Result<void> sent = exchange.send(http::verb::get, "/v1/models", ""); !sent) {
    return std::unexpected(sent.error());
  }
  const Result<std::string> body = exchange.read_all(std::size_t{1} << 20);
  if (!body) {
    return std::unexpected(body.error());
  }
  if (exchange.status() != 200) {
    return std::unexpected(refusal(exchange.status(), *body));
  }
  error_code error;
  const json::value parsed = json::parse(*body, error);
  std::string model = error ? "" : text_at(parsed, "/data/0/id");
  if (model.empty()) {
    return failure(ErrorCode::kInvalidArgument,
                   fmt::format("{}:{} does not answer like a model server", url.host, url.port));
  }
  return std::make_unique<RemoteTalker>(url, api_key, std::move(model));
}

}  // namespace paternoster::cli
