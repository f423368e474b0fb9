// One client of the mock: requests in, bytes out, framed and cut as the options say. Always reads, so
// that a client that goes away is noticed. Everything happens on the server's one thread.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "mock/options.h"
#include "server/http_request.h"
#include "server/http_response.h"

namespace paternoster::mock {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using OnRequest = std::function<void(const std::shared_ptr<Connection>&, server::HttpRequest&&)>;

  Connection(boost::asio::ip::tcp::socket socket, const MockOptions& options, OnRequest on_request)
      : socket_(std::move(socket)), options_(options), on_request_(std::move(on_request)), reader_({}) {}

  void start();

  // Exactly one answer a request: a whole response, or a stream that ends.
  void respond(const server::Response& response);
  void begin_stream();
  void stream(std::string_view bytes);
  void end_stream();
  // In mid-answer, after what has been given so far.
  void cut();
  // Called once if the client goes away before the answer's end.
  void when_gone(std::function<void()> gone) { gone_ = std::move(gone); }
  void close();

 private:
  void read();
  void process_input();
  void send(std::string_view bytes);
  void write();
  void finish();

  boost::asio::ip::tcp::socket socket_;
  const MockOptions& options_;
  OnRequest on_request_;
  server::RequestReader reader_;
  std::string input_;
  std::string pending_;
  std::string writing_;
  bool write_active_ = false;
  bool answering_ = false;
  bool answer_over_ = false;
  bool close_after_ = false;
  bool closed_ = false;
  std::array<char, 16 * 1024> room_;
  std::function<void()> gone_;
};

}  // namespace paternoster::mock
