// One TCP connection to a server, plain or under TLS, with the few operations that a caller needs.
//
// Everything happens on the thread that runs the io_context. At most one read and one write are under
// way; each keeps the transport alive until its callback has come, which after `close` is with an error.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/url.h"

namespace boost::asio::ssl {
class context;
}

namespace paternoster::client {

using SocketError = boost::system::error_code;
using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;

class Transport : public std::enable_shared_from_this<Transport> {
 public:
  virtual ~Transport() = default;
  // Tries the endpoints in turn; under TLS the handshake is part of it.
  virtual void connect(const Endpoints& endpoints, std::function<void(SocketError)> done) = 0;
  // All of `bytes`, which live until `done`.
  virtual void write(std::string_view bytes, std::function<void(SocketError)> done) = 0;
  // At least one byte; `room` lives until `done`.
  virtual void read_some(std::span<char> room, std::function<void(SocketError, std::size_t)> done) = 0;
  virtual void close() = 0;
};

// What TLS needs, made once a server: the system's certificates, or none are checked.
std::shared_ptr<boost::asio::ssl::context> make_tls(bool verify);

// `tls` is null for a plain connection.
std::shared_ptr<Transport> make_transport(boost::asio::io_context& context, const ServerUrl& url,
                                          const std::shared_ptr<boost::asio::ssl::context>& tls);

// Looks the host up; blocks, so it is done once and before anything is measured.
Result<Endpoints> resolve(const ServerUrl& url);

}  // namespace paternoster::client
