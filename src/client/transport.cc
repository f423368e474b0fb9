#include "client/transport.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

namespace paternoster::client {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;

namespace {

using Owner = std::shared_ptr<Transport>;

template <typename Stream>
void read_into(Stream& stream, std::span<char> room, Owner owner,
               std::function<void(SocketError, std::size_t)> done) {
  stream.async_read_some(asio::buffer(room.data(), room.size()),
                         [owner = std::move(owner), done = std::move(done)](SocketError error, std::size_t bytes) {
                           done(error, bytes);
                         });
}

template <typename Stream>
void write_all(Stream& stream, std::string_view bytes, Owner owner, std::function<void(SocketError)> done) {
  asio::async_write(stream, asio::buffer(bytes.data(), bytes.size()),
                    [owner = std::move(owner), done = std::move(done)](SocketError error, std::size_t) {
                      done(error);
                    });
}

// A request goes out at once: Nagle's algorithm would hold it for an acknowledgement.
void dial(tcp::socket& socket, const Endpoints& endpoints, Owner owner, std::function<void(SocketError)> done) {
  asio::async_connect(socket, endpoints,
                      [&socket, owner = std::move(owner), done = std::move(done)](SocketError error,
                                                                                  const tcp::endpoint&) {
                        SocketError ignored;
                        if (!error) socket.set_option(tcp::no_delay(true), ignored);
                        done(error);
                      });
}

void shut(tcp::socket& socket) {
  SocketError ignored;
  socket.shutdown(tcp::socket::shutdown_both, ignored);
  socket.close(ignored);
}

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(asio::io_context& context) : socket_(context) {}
  void connect(const Endpoints& endpoints, std::function<void(SocketError)> done) override {
    dial(socket_, endpoints, shared_from_this(), std::move(done));
  }
  void write(std::string_view bytes, std::function<void(SocketError)> done) override {
    write_all(socket_, bytes, shared_from_this(), std::move(done));
  }
  void read_some(std::span<char> room, std::function<void(SocketError, std::size_t)> done) override {
    read_into(socket_, room, shared_from_this(), std::move(done));
  }
  void close() override { shut(socket_); }

 private:
  tcp::socket socket_;
};

class TlsTransport final : public Transport {
 public:
  TlsTransport(asio::io_context& context, std::shared_ptr<ssl::context> tls, const std::string& host)
      : tls_(std::move(tls)), stream_(context, *tls_) {
    SSL_set_tlsext_host_name(stream_.native_handle(), host.c_str());
    if (SSL_get_verify_mode(stream_.native_handle()) != SSL_VERIFY_NONE) {
      stream_.set_verify_callback(ssl::host_name_verification(host));
    }
  }
  void connect(const Endpoints& endpoints, std::function<void(SocketError)> done) override {
    const Owner owner = shared_from_this();
    dial(stream_.next_layer(), endpoints, owner, [this, owner, done = std::move(done)](SocketError error) {
      if (error) return done(error);
      stream_.async_handshake(ssl::stream_base::client, [owner, done](SocketError failed) { done(failed); });
    });
  }
  void write(std::string_view bytes, std::function<void(SocketError)> done) override {
    write_all(stream_, bytes, shared_from_this(), std::move(done));
  }
  void read_some(std::span<char> room, std::function<void(SocketError, std::size_t)> done) override {
    read_into(stream_, room, shared_from_this(), std::move(done));
  }
  void close() override { shut(stream_.next_layer()); }

 private:
  std::shared_ptr<ssl::context> tls_;
  ssl::stream<tcp::socket> stream_;
};

}  // namespace

std::shared_ptr<ssl::context> make_tls(bool verify) {
  auto tls = std::make_shared<ssl::context>(ssl::context::tls_client);
  SocketError ignored;  // without the system's certificates every server fails to verify, which says so
  tls->set_default_verify_paths(ignored);
  tls->set_verify_mode(verify ? ssl::verify_peer : ssl::verify_none);
  return tls;
}

std::shared_ptr<Transport> make_transport(asio::io_context& context, const ServerUrl& url,
                                          const std::shared_ptr<ssl::context>& tls) {
  if (tls == nullptr) return std::make_shared<PlainTransport>(context);
  return std::make_shared<TlsTransport>(context, tls, url.host);
}

Result<Endpoints> resolve(const ServerUrl& url) {
  asio::io_context context;
  tcp::resolver resolver(context);
  SocketError error;
  const auto found = resolver.resolve(url.host, url.port, error);
  if (error) {
    return failure(paternoster::ErrorCode::kNotFound,
                   "cannot find the address of " + url.host + ": " + error.message());
  }
  Endpoints endpoints;
  for (const auto& entry : found) endpoints.push_back(entry.endpoint());
  return endpoints;
}

}  // namespace paternoster::client
