#include "server/server.h"

#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/service.h"

namespace paternoster::server {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::chrono::milliseconds kTick{250};
constexpr std::chrono::milliseconds kAcceptPause{100};

// Each connection is a file descriptor: take as many as the system lets us.
void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

Result<tcp::endpoint> resolve(asio::io_context& context, const std::string& host,
                              std::uint16_t port) {
  boost::system::error_code failed;
  const std::string bare = host.starts_with('[') && host.ends_with(']')
                               ? host.substr(1, host.size() - 2)
                               : host;
  const auto address = asio::ip::make_address(bare, failed);
  if (!failed) return tcp::endpoint(address, port);
  tcp::resolver resolver(context);
  const auto found = resolver.resolve(bare, std::to_string(port), tcp::resolver::passive, failed);
  if (failed || found.empty()) {
    return failure(ErrorCode::kInvalidArgument, "cannot listen on '" + host + "': no such address");
  }
  return found.begin()->endpoint();
}

}  // namespace

class Server::Impl {
 public:
  explicit Impl(ServerOptions options) : options_(std::move(options)) {}

  Result<void> open(api::Backend& backend, measure::ServingMetrics& metrics);
  int run();
  void drain();
  void stop_at_once();

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  std::string address() const;
  asio::io_context& context() { return context_; }

 private:
  void accept();
  void tick();
  void await_signal();
  void await_hangup();

  ServerOptions options_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer ticker_{context_};
  asio::steady_timer pause_{context_};
  asio::signal_set signals_{context_};
  asio::signal_set hangups_{context_};
  asio::steady_timer drain_timer_{context_};
  std::unique_ptr<Service> service_;
  int exit_code_ = 0;
};

Result<void> Server::Impl::open(api::Backend& backend, measure::ServingMetrics& metrics) {
  raise_file_limit();
  const auto endpoint = resolve(context_, options_.host, options_.port);
  if (!endpoint) return std::unexpected(endpoint.error());
  boost::system::error_code failed;
  acceptor_.open(endpoint->protocol(), failed);
  if (!failed) acceptor_.set_option(tcp::acceptor::reuse_address(true), failed);
  if (!failed) acceptor_.bind(*endpoint, failed);
  if (!failed) acceptor_.listen(asio::socket_base::max_listen_connections, failed);
  if (failed) {
    const std::string where = options_.host + ":" + std::to_string(options_.port);
    const bool taken = failed == asio::error::address_in_use;
    return failure(ErrorCode::kUnavailable,
                   "cannot listen on " + where + ": " +
                       (taken ? "the port is in use (choose another with --port)" : failed.message()));
  }
  service_ = std::make_unique<Service>(context_, options_, backend, metrics);
  return {};
}

std::string Server::Impl::address() const {
  const auto endpoint = acceptor_.local_endpoint();
  const std::string host = endpoint.address().is_v6() ? "[" + endpoint.address().to_string() + "]"
                                                      : endpoint.address().to_string();
  return "http://" + host + ":" + std::to_string(endpoint.port());
}

void Server::Impl::accept() {
  acceptor_.async_accept([this](const boost::system::error_code& failed, tcp::socket socket) {
    if (failed == asio::error::operation_aborted) return;
    if (!failed) {
      service_->accept(std::move(socket));
      accept();
      return;
    }
    // Out of descriptors, most likely: trying again at once would only spin.
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](const boost::system::error_code& aborted) {
      if (!aborted) accept();
    });
  });
}

void Server::Impl::tick() {
  ticker_.expires_after(kTick);
  ticker_.async_wait([this](const boost::system::error_code& aborted) {
    if (aborted) return;
    service_->tick(Clock::now());
    if (service_->drained()) {
      context_.stop();
    } else {
      tick();
    }
  });
}

void Server::Impl::await_signal() {
  signals_.async_wait([this](const boost::system::error_code& failed, int) {
    if (failed) return;
    if (service_->draining()) {
      stop_at_once();
      return;
    }
    drain();
    await_signal();
  });
}

void Server::Impl::await_hangup() {
  hangups_.async_wait([this](const boost::system::error_code& failed, int) {
    if (failed) return;
    service_->reload_keys();
    await_hangup();
  });
}

void Server::Impl::drain() {
  if (service_->draining()) return;
  spdlog::info("draining: running requests finish, new ones are refused; a second signal stops at once");
  service_->begin_drain();
  if (service_->drained()) {
    context_.stop();
    return;
  }
  if (options_.drain_timeout.count() == 0) return;
  drain_timer_.expires_after(options_.drain_timeout);
  drain_timer_.async_wait([this](const boost::system::error_code& aborted) {
    if (!aborted) service_->end_requests();
  });
}

void Server::Impl::stop_at_once() {
  exit_code_ = service_->busy() ? 1 : 0;
  context_.stop();
}

int Server::Impl::run() {
  if (options_.handle_signals) {
    signals_.add(SIGTERM);
    signals_.add(SIGINT);
    await_signal();
    hangups_.add(SIGHUP);
    await_hangup();
  }
  accept();
  tick();
  context_.run();
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  service_->close_all();
  return exit_code_;
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::create(ServerOptions options, api::Backend& backend,
                                               measure::ServingMetrics& metrics) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (auto opened = impl->open(backend, metrics); !opened) return std::unexpected(opened.error());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

std::uint16_t Server::port() const { return impl_->port(); }
std::string Server::address() const { return impl_->address(); }
int Server::run() { return impl_->run(); }
void Server::drain() {
  boost::asio::post(impl_->context(), [this] { impl_->drain(); });
}
void Server::stop() {
  boost::asio::post(impl_->context(), [this] { impl_->stop_at_once(); });
}

}  // namespace paternoster::server
