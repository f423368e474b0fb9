#include "mock/server.h"

#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <ctime>

#include "api/model_reply.h"
#include "api/reply_parts.h"
#include "base/json_writer.h"
#include "mock/connection.h"
#include "mock/desk.h"
#include "mock/words.h"

namespace paternoster::mock {

namespace asio = boost::asio;
using asio::ip::tcp;
using Guest = std::shared_ptr<Connection>;

namespace {

void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void append_line(std::string& out, const MockRequest& request) {
  JsonObject line(out);
  line.field("number", request.number)
      .field("request_id", request.request_id)
      .field("arrived_ns", request.arrived_ns)
      .field("seated_ns", request.seated_ns)
      .field("first_ns", request.first_ns)
      .field("last_ns", request.last_ns)
      .field("late_ns", request.late_ns)
      .field("prompt_tokens", request.prompt_tokens)
      .field("output_tokens", request.output_tokens)
      .field("abandoned", request.abandoned);
  // What was asked for beyond OpenAI's own fields.
  if (request.wish.priority) line.field("priority", *request.wish.priority);
  if (request.wish.timeout_ms) line.field("timeout_ms", *request.wish.timeout_ms);
  if (request.wish.expected_tokens > 0) line.field("expected_tokens", request.wish.expected_tokens);
  line.end();
  out += '\n';
}

void append_metric(std::string& out, const char* name, const char* type, std::int64_t value, const std::string& model) {
  out += "# TYPE " + std::string(name) + " " + type + "\n" + name + "{model_name=\"" + model + "\",engine=\"0\"} " +
         std::to_string(value) + "\n";
}

}  // namespace

class MockServer::Impl {
 public:
  explicit Impl(MockOptions options) : options_(std::move(options)), desk_(context_, options_) {
    card_.id = options_.model;
    card_.max_len = options_.max_len;
    card_.created_s = std::time(nullptr);
  }

  Result<void> open();
  void run(bool handle_signals);
  void stop() {
    asio::post(context_, [this] { context_.stop(); });
  }
  tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }
  const std::vector<MockRequest>& requests() const { return desk_.over(); }

 private:
  void accept();
  void handle(const Guest& guest, server::HttpRequest&& request);
  void generate(const Guest& guest, const server::HttpRequest& request, api::ApiResult<api::Ask> ask);
  void tokenize(const Guest& guest, const std::string& body);
  void answer(const Guest& guest, std::string body, std::string_view type = "application/json") {
    server::Response response;
    response.content_type = type;
    response.body = std::move(body);
    guest->respond(response);
  }
  std::string metrics() const;
  std::string requests_text() const;

  MockOptions options_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::signal_set signals_{context_};
  api::ModelCard card_;
  Desk desk_;
};

Result<void> MockServer::Impl::open() {
  raise_file_limit();
  boost::system::error_code failed;
  const auto address = asio::ip::make_address(options_.host, failed);
  if (failed) return failure(ErrorCode::kInvalidArgument, "'" + options_.host + "' is not an address to listen on");
  const tcp::endpoint endpoint(address, options_.port);
  acceptor_.open(endpoint.protocol(), failed);
  if (!failed) acceptor_.set_option(tcp::acceptor::reuse_address(true), failed);
  if (!failed) acceptor_.bind(endpoint, failed);
  if (!failed) acceptor_.listen(asio::socket_base::max_listen_connections, failed);
  if (!failed) return {};
  return failure(ErrorCode::kUnavailable, "cannot listen on " + options_.host + ":" + std::to_string(options_.port) +
                                              ": " + failed.message());
}

void MockServer::Impl::accept() {
  acceptor_.async_accept([this](const boost::system::error_code& failed, tcp::socket socket) {
    if (failed == asio::error::operation_aborted) return;
    if (!failed) {
      const auto guest = std::make_shared<Connection>(
          std::move(socket), options_,
          [this](const Guest& who, server::HttpRequest&& request) { handle(who, std::move(request)); });
      guest->start();
    }
    accept();
  });
}

void MockServer::Impl::handle(const Guest& guest, server::HttpRequest&& request) {
  const std::string& path = request.path;
  if (request.method == "POST" && path == "/v1/chat/completions") {
    generate(guest, request, api::parse_chat(request.body));
  } else if (request.method == "POST" && path == "/v1/completions") {
    generate(guest, request, api::parse_completion(request.body));
  } else if (request.method == "POST" && path == "/tokenize") {
    tokenize(guest, request.body);
  } else if (path == "/v1/models" || path == "/models") {
    answer(guest, api::models_body(card_));
  } else if (path.starts_with("/health")) {
    answer(guest, R"({"status":"ok"})");
  } else if (path == "/metrics") {
    answer(guest, metrics(), "text/plain; version=0.0.4");
  } else if (path == "/mock/requests") {
    answer(guest, requests_text(), "application/jsonl");
  } else {
    guest->respond(server::error_response(
        api::other_error(404, "not_found_error", "not_found", "The mock has no " + request.method + " " + path + ".")));
  }
}

void MockServer::Impl::generate(const Guest& guest, const server::HttpRequest& request, api::ApiResult<api::Ask> ask) {
  if (!options_.api_key.empty() && request.authorization != "Bearer " + options_.api_key) {
    return guest->respond(server::error_response(
        api::other_error(401, "authentication_error", "invalid_api_key", "The key is missing or wrong.")));
  }
  if (!ask) return guest->respond(server::error_response(ask.error()));
  if (const auto fault = objection(options_, *ask)) return guest->respond(server::error_response(*fault));
  desk_.take(guest, std::move(*ask), request.request_id);
}

void MockServer::Impl::tokenize(const Guest& guest, const std::string& body) {
  const auto ask = api::parse_tokenize(body);
  if (!ask) return guest->respond(server::error_response(ask.error()));
  api::Tokenized tokenized;
  tokenized.tokens = tokens_of(ask->prompt);
  for (const TokenId token : tokenized.tokens) tokenized.pieces.push_back(text_of(token));
  answer(guest, api::tokenize_body(*ask, tokenized, card_));
}

std::string MockServer::Impl::metrics() const {
  std::string out;
  append_metric(out, "vllm:num_requests_running", "gauge", static_cast<std::int64_t>(desk_.running()), options_.model);
  append_metric(out, "vllm:num_requests_waiting", "gauge", static_cast<std::int64_t>(desk_.waiting()), options_.model);
  append_metric(out, "vllm:prompt_tokens_total", "counter", desk_.prompt_tokens(), options_.model);
  append_metric(out, "vllm:generation_tokens_total", "counter", desk_.output_tokens(), options_.model);
  return out;
}

std::string MockServer::Impl::requests_text() const {
  std::string out;
  for (const MockRequest& request : desk_.over()) append_line(out, request);
  return out;
}

void MockServer::Impl::run(bool handle_signals) {
  if (handle_signals) {
    signals_.add(SIGINT);
    signals_.add(SIGTERM);
    signals_.async_wait([this](const boost::system::error_code& failed, int) {
      if (!failed) context_.stop();
    });
  }
  accept();
  context_.run();
}

MockServer::MockServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MockServer::~MockServer() = default;

Result<std::unique_ptr<MockServer>> MockServer::create(MockOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (auto opened = impl->open(); !opened) return std::unexpected(opened.error());
  return std::unique_ptr<MockServer>(new MockServer(std::move(impl)));
}

std::uint16_t MockServer::port() const { return impl_->endpoint().port(); }
std::string MockServer::address() const {
  const auto endpoint = impl_->endpoint();
  const std::string host = endpoint.address().is_v6() ? "[" + endpoint.address().to_string() + "]"
                                                      : endpoint.address().to_string();
  return "http://" + host + ":" + std::to_string(endpoint.port());
}
void MockServer::run(bool handle_signals) { impl_->run(handle_signals); }
void MockServer::stop() { impl_->stop(); }
const std::vector<MockRequest>& MockServer::requests() const { return impl_->requests(); }

}  // namespace paternoster::mock
