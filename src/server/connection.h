// One client: requests in, responses out, one after another on a kept connection.
//
// It always reads, also while it answers, so that a client that goes away is noticed in whatever phase.
// It writes what has piled up in one go, keeps at most so many bytes for a stream whose client does not
// read, and knows its deadlines; `tick` enforces them once a second. Everything happens on the I/O
// thread.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/http_request.h"
#include "server/http_response.h"

namespace paternoster::server {

class Connection;
using Clock = std::chrono::steady_clock;

// Who decides about requests, and is told when they end.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  // The head is there, the body is not: an answer now means that the body is not wanted.
  virtual std::optional<Response> refuse_early(Connection& connection, const HttpRequest& request) = 0;
  // The request is whole. Sooner or later the connection is answered, or `gone` is called.
  virtual void handle(const std::shared_ptr<Connection>& connection, HttpRequest&& request) = 0;
  // A response ended, or 499: the client went away first.
  virtual void ended(Connection& connection, int status) = 0;
  virtual void closed(Connection& connection) = 0;
  virtual bool draining() const = 0;
};

struct ConnectionLimits {
  HttpLimits http;
  std::size_t stream_bytes = 256 * 1024;  // a stream's unread bytes before it is dropped
  std::size_t ahead_bytes = 64 * 1024;    // read ahead while answering
  int send_buffer_bytes = 64 * 1024;      // the kernel's share, or slow readers would go unnoticed
  std::chrono::seconds head{10};          // from the first byte of a request to the end of its head
  std::chrono::seconds body{60};
  std::chrono::seconds idle{120};         // between requests
  std::chrono::seconds write_stall{30};   // without any progress
  std::chrono::seconds ping{15};          // of a stream's silence
};

// What the access log tells of the request that is being answered.
struct RequestRecord {
  std::string method;
  std::string path;
  std::string request_id;
  Clock::time_point began;
  int status = 0;  // once the head is sent
  std::size_t bytes = 0;
  std::string note;  // tokens, and why a stream ended
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, RequestHandler& handler,
             const ConnectionLimits& limits);

  void start();

  // Exactly one answer a request: a whole response, or a stream.
  void respond(Response response);
  void begin_stream(std::string_view content_type, const Headers& headers);
  // Queues bytes of the stream; they go out with the next `flush`.
  void stream(std::string_view bytes);
  void end_stream();
  void flush();

  // Called once if the client goes away, or is dropped, before the answer's end.
  void when_gone(std::function<void()> gone) { gone_ = std::move(gone); }
  // Bytes that wait to be written.
  std::size_t backlog() const { return pending_.size() + writing_.size() - written_; }
  bool streaming() const { return state_ == State::kStreaming; }
  bool dropped_as_slow() const { return slow_; }
  bool idle() const { return state_ == State::kReading && backlog() == 0; }

  RequestRecord& record() { return record_; }

  void tick(Clock::time_point now);
  // Ends it at once.
  void close();

 private:
  enum class State : std::uint8_t { kReading, kAnswering, kStreaming, kLingering, kClosed };

  void read();
  void on_readable();
  void process_input();
  void take_head();
  void take_request();
  void refuse(const Response& response);
  void send(const Response& response, bool close);
  void write();
  void on_written(std::size_t bytes);
  void finish_answer();
  void linger();
  void vanish();
  bool must_close(bool wanted) const;

  boost::asio::ip::tcp::socket socket_;
  RequestHandler& handler_;
  const ConnectionLimits& limits_;
  RequestReader reader_;
  State state_ = State::kReading;
  bool reading_ = false;      // a wait for input is under way
  bool write_active_ = false;
  bool answer_over_ = false;  // everything of it is queued
  bool close_after_ = false;
  bool chunked_ = false;
  bool is_head_ = false;
  bool slow_ = false;
  bool keep_alive_ = true;
  int version_ = 11;
  std::size_t lingered_bytes_ = 0;
  std::string input_;
  std::string pending_;
  std::string writing_;
  std::size_t written_ = 0;  // of writing_
  Clock::time_point deadline_;
  Clock::time_point progress_;    // of writing
  Clock::time_point last_event_;  // of the stream
  std::function<void()> gone_;
  RequestRecord record_;
};

}  // namespace paternoster::server
