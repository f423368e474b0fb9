// The edge with a backend that follows a script, for what the real one does too rarely to wait for.
// tests/api drives the whole program.
#include "server/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace paternoster::server {
namespace {

using testing::HasSubstr;
using testing::Not;

// Keeps calls until the test answers them.
class ScriptedBackend final : public api::Backend {
 public:
  void attach(api::Outlet* outlet) override { outlet_ = outlet; }
  api::CallId generate(api::Generation) override {
    const std::lock_guard lock(mutex_);
    calls_.push_back(api::CallId{calls_.size() + 1});
    changed_.notify_all();
    return calls_.back();
  }
  void cancel(api::CallId call) override {
    const std::lock_guard lock(mutex_);
    cancelled_.push_back(call);
    changed_.notify_all();
  }
  api::ApiResult<api::Tokenized> tokenize(const api::Prompt&, bool, bool) const override {
    return api::Tokenized{{1, 2}, {"a", "b"}};
  }
  api::ApiResult<std::string> detokenize(const std::vector<TokenId>&) const override { return "ab"; }
  api::ApiResult<std::string> render(const api::ChatPrompt&) const override { return "ab"; }
  const api::ModelCard& model() const override { return card_; }
  api::Health health() const override { return {api::Readiness::kReady, 1, 0, 0}; }
  void stop(api::CallId) override {}
  void list_requests() override {}
  void watch_live(bool) override {}
  void drain() override {}

  void tell(std::vector<api::BackendEvent> events) { outlet_->deliver(std::move(events)); }
  api::CallId await_call(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return calls_.size() >= count; });
    return calls_.at(count - 1);
  }
  bool await_cancel(api::CallId call) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [&] {
      return std::ranges::find(cancelled_, call) != cancelled_.end();
    });
  }

 private:
  api::Outlet* outlet_ = nullptr;
  api::ModelCard card_ = [] {
    api::ModelCard card;
    card.id = "m";
    return card;
  }();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<api::CallId> calls_;
  std::vector<api::CallId> cancelled_;
};

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const timeval patience{10, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~Client() { leave(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(const std::string& text) {
    EXPECT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  void post(const std::string& path, const std::string& body) {
    send("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  // Reads until `end` has been seen, or nothing comes any more.
  std::string read_until(std::string_view end) {
    while (seen_.find(end) == std::string::npos) {
      char buffer[4096];
      const ssize_t bytes = ::recv(socket_, buffer, sizeof buffer, 0);
      if (bytes <= 0) break;
      seen_.append(buffer, static_cast<std::size_t>(bytes));
    }
    return std::exchange(seen_, {});
  }
  void leave() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

 private:
  int socket_;
  std::string seen_;
};

class ServerTest : public testing::Test {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.port = 0;
    options.handle_signals = false;
    auto made = Server::create(std::move(options), backend_, metrics_);
    ASSERT_TRUE(made) << made.error().message;
    server_ = std::move(*made);
    thread_ = std::thread([this] { code_ = server_->run(); });
  }
  void TearDown() override {
    server_->stop();
    if (thread_.joinable()) thread_.join();
  }

  ScriptedBackend backend_;
  measure::ServingMetrics metrics_{"m"};
  std::unique_ptr<Server> server_;
  std::thread thread_;
  int code_ = -1;
};

TEST_F(ServerTest, HoldsTheStatusLineUntilTheCallIsAccepted) {
  Client client(server_->port());
  client.post("/v1/completions", R"({"prompt":"x","stream":true})");
  const api::CallId call = backend_.await_call(1);
  backend_.tell({api::Refused{call, api::queue_full(1500)}});
  const std::string answer = client.read_until("}}");
  EXPECT_THAT(answer, HasSubstr("HTTP/1.1 503 "));
  EXPECT_THAT(answer, HasSubstr("Retry-After: 2\r\nretry-after-ms: 1500\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: application/json"));
}

TEST_F(ServerTest, AFaultInMidStreamIsAnEventAndTheConnectionLives) {
  Client client(server_->port());
  client.post("/v1/completions", R"({"prompt":"x","stream":true})");
  const api::CallId call = backend_.await_call(1);
  backend_.tell({api::Accepted{call, 1, {}}, api::Delta{call, 0, false, "a", {1}, {}}});
  EXPECT_THAT(client.read_until("\"text\":\"a\""), HasSubstr("HTTP/1.1 200 "));
  backend_.tell({api::Refused{call, api::server_error("broken")}});
  EXPECT_THAT(client.read_until("0\r\n\r\n"), HasSubstr("broken"));
  client.post("/tokenize", R"({"prompt":"x"})");
  EXPECT_THAT(client.read_until("]"), HasSubstr("\"tokens\":[1,2]"));
}

TEST_F(ServerTest, OneRefusedPromptCancelsItsSiblings) {
  Client client(server_->port());
  client.post("/v1/completions", R"({"prompt":["x","y"]})");
  const api::CallId second = backend_.await_call(2);
  const api::CallId first = backend_.await_call(1);
  backend_.tell({api::Accepted{first, 1, {}}, api::Refused{second, api::queue_full(1000)}});
  EXPECT_THAT(client.read_until("}}"), HasSubstr("HTTP/1.1 503 "));
  EXPECT_TRUE(backend_.await_cancel(first));
}

TEST_F(ServerTest, CancelsWhenTheClientLeavesBeforeAnyAnswer) {
  Client client(server_->port());
  client.post("/v1/completions", R"({"prompt":"x"})");
  const api::CallId call = backend_.await_call(1);
  client.leave();
  EXPECT_TRUE(backend_.await_cancel(call));
}

TEST_F(ServerTest, DrainsOnceTheLastAnswerIsOut) {
  Client client(server_->port());
  client.post("/v1/completions", R"({"prompt":"x"})");
  const api::CallId call = backend_.await_call(1);
  server_->drain();
  Client other(server_->port());
  other.post("/v1/completions", R"({"prompt":"x"})");
  EXPECT_THAT(other.read_until("}}"), HasSubstr("draining"));
  backend_.tell({api::Accepted{call, 1, {}}, api::Delta{call, 0, false, "a", {1}, {}},
                 api::Finished{call, 0, api::FinishReason::kStop, {}}, api::Done{call, {1, 0, 1}, {}}});
  EXPECT_THAT(client.read_until("\"text\":\"a\""), HasSubstr("Connection: close"));
  thread_.join();
  EXPECT_EQ(code_, 0);
}

TEST_F(ServerTest, DropsAStreamThatNobodyReads) {
  Client client(server_->port());
  client.post("/v1/completions", R"({"prompt":"x","stream":true})");
  const api::CallId call = backend_.await_call(1);
  backend_.tell({api::Accepted{call, 1, {}}});
  const std::string text(32 * 1024, 'x');
  // More than all buffers between the two hold.
  for (int i = 0; i < 400; ++i) backend_.tell({api::Delta{call, 0, false, text, {1}, {}}});
  EXPECT_TRUE(backend_.await_cancel(call));
  EXPECT_THAT(metrics_.render(), HasSubstr("paternoster_slow_readers_dropped_total{model=\"m\"} 1\n"));
}

}  // namespace
}  // namespace paternoster::server
