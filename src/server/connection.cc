#include "server/connection.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <charconv>
#include <utility>

#include "base/check.h"

namespace paternoster::server {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kMostLinger = 64 * 1024 * 1024;
constexpr std::chrono::seconds kLingerTime{5};

void append_chunk(std::string& out, std::string_view bytes) {
  char size[20];
  const auto [end, error] = std::to_chars(size, size + sizeof size, bytes.size(), 16);
  out.append(size, end);
  out += "\r\n";
  out += bytes;
  out += "\r\n";
}

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, RequestHandler& handler,
                       const ConnectionLimits& limits)
    : socket_(std::move(socket)),
      handler_(handler),
      limits_(limits),
      reader_(limits.http),
      deadline_(Clock::now() + limits.idle) {}

void Connection::start() {
  boost::system::error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::send_buffer_size(limits_.send_buffer_bytes), ignored);
  read();
}

// Waits without holding a buffer, so that thousands of idle connections cost little.
void Connection::read() {
  if (reading_ || state_ == State::kClosed) return;
  if (state_ != State::kReading && state_ != State::kLingering && input_.size() > limits_.ahead_bytes) {
    return;
  }
  reading_ = true;
  socket_.async_wait(asio::ip::tcp::socket::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& failed) {
                       self->reading_ = false;
                       if (failed) {
                         self->vanish();
                       } else {
                         self->on_readable();
                       }
                     });
}

void Connection::on_readable() {
  if (state_ == State::kClosed) return;
  static thread_local std::array<char, kReadBytes> scratch;
  boost::system::error_code failed;
  const std::size_t bytes = socket_.read_some(asio::buffer(scratch), failed);
  if (failed == asio::error::would_block || failed == asio::error::try_again) {
    read();
    return;
  }
  if (failed) {
    vanish();
    return;
  }
  if (state_ == State::kLingering) {
    lingered_bytes_ += bytes;
    if (lingered_bytes_ > kMostLinger) {
      close();
    } else {
      read();
    }
    return;
  }
  input_.append(scratch.data(), bytes);
  if (state_ == State::kReading) process_input();
  read();
}

void Connection::process_input() {
  while (state_ == State::kReading && !input_.empty()) {
    const bool fresh = !reader_.begun();
    const auto status = reader_.feed(input_);
    if (fresh) {
      record_ = {};
      record_.began = Clock::now();
      deadline_ = record_.began + limits_.head;
    }
    switch (status) {
      case RequestReader::Status::kMore: return;
      case RequestReader::Status::kHead: take_head(); break;
      case RequestReader::Status::kDone: take_request(); break;
      case RequestReader::Status::kBad:
        version_ = 11;
        refuse(error_response(reader_.error()));
        return;
    }
  }
}

void Connection::take_head() {
  const HttpRequest& request = reader_.request();
  record_.method = request.method;
  record_.path = request.path;
  version_ = request.version;
  is_head_ = request.is_head();
  deadline_ = Clock::now() + limits_.body;
  if (const auto refusal = handler_.refuse_early(*this, request)) {
    refuse(*refusal);
    return;
  }
  if (request.expects_continue && input_.empty()) {
    pending_ += "HTTP/1.1 100 Continue\r\n\r\n";
    flush();
  }
}

void Connection::take_request() {
  HttpRequest request = std::move(reader_.request());
  reader_.reset();
  state_ = State::kAnswering;
  record_.method = request.method;
  record_.path = request.path;
  version_ = request.version;
  keep_alive_ = request.keep_alive;
  is_head_ = request.is_head();
  answer_over_ = false;
  handler_.handle(shared_from_this(), std::move(request));
}

// Answers a request that is not read to its end; what follows could not be told from its body.
void Connection::refuse(const Response& response) {
  state_ = State::kAnswering;
  answer_over_ = false;
  send(response, true);
}

bool Connection::must_close(bool wanted) const {
  return wanted || !keep_alive_ || handler_.draining();
}

void Connection::respond(Response response) { send(response, false); }

void Connection::send(const Response& response, bool close) {
  PATERNOSTER_CHECK(state_ == State::kAnswering || state_ == State::kClosed);
  if (state_ == State::kClosed) return;
  close_after_ = must_close(close);
  const bool bodiless = response.status == 204 || response.status == 304;
  HeadOptions options;
  options.version = version_;
  options.close = close_after_;
  options.length = bodiless ? -1 : static_cast<long long>(response.body.size());
  options.request_id = record_.request_id;
  pending_ += response_head(response.status, bodiless ? "" : response.content_type, response.headers,
                            options);
  if (!is_head_ && !bodiless) pending_ += response.body;
  record_.status = response.status;
  record_.bytes = is_head_ ? 0 : response.body.size();
  answer_over_ = true;
  gone_ = nullptr;
  flush();
}

void Connection::begin_stream(std::string_view content_type, const Headers& headers) {
  PATERNOSTER_CHECK(state_ == State::kAnswering || state_ == State::kClosed);
  if (state_ == State::kClosed) return;
  state_ = State::kStreaming;
  chunked_ = version_ >= 11;
  close_after_ = must_close(!chunked_);
  HeadOptions options;
  options.version = version_;
  options.close = close_after_;
  options.chunked = chunked_;
  options.request_id = record_.request_id;
  pending_ += response_head(200, content_type, headers, options);
  record_.status = 200;
  last_event_ = Clock::now();
}

void Connection::stream(std::string_view bytes) {
  if (state_ != State::kStreaming || bytes.empty()) return;
  if (backlog() + bytes.size() > limits_.stream_bytes) {
    slow_ = true;
    record_.note = "client does not read";
    // Not from inside a caller's loop over what this connection has asked for.
    asio::post(socket_.get_executor(), [self = shared_from_this()] { self->vanish(); });
    return;
  }
  record_.bytes += bytes.size();
  last_event_ = Clock::now();
  if (chunked_) {
    append_chunk(pending_, bytes);
  } else {
    pending_ += bytes;
  }
}

void Connection::end_stream() {
  if (state_ != State::kStreaming) return;
  if (chunked_) pending_ += "0\r\n\r\n";
  answer_over_ = true;
  gone_ = nullptr;
  flush();
}

void Connection::flush() {
  if (write_active_ || state_ == State::kClosed) return;
  if (!pending_.empty()) {
    writing_.swap(pending_);
    written_ = 0;
    progress_ = Clock::now();
    write();
  } else if (answer_over_ && (state_ == State::kAnswering || state_ == State::kStreaming)) {
    finish_answer();
  }
}

void Connection::write() {
  write_active_ = true;
  socket_.async_write_some(
      asio::buffer(writing_.data() + written_, writing_.size() - written_),
      [self = shared_from_this()](const boost::system::error_code& failed, std::size_t bytes) {
        self->write_active_ = false;
        if (failed) {
          self->vanish();
        } else {
          self->on_written(bytes);
        }
      });
}

void Connection::on_written(std::size_t bytes) {
  if (state_ == State::kClosed) return;
  written_ += bytes;
  progress_ = Clock::now();
  if (written_ < writing_.size()) {
    write();
    return;
  }
  writing_.clear();
  if (writing_.capacity() > limits_.stream_bytes) writing_.shrink_to_fit();
  written_ = 0;
  flush();
}

void Connection::finish_answer() {
  answer_over_ = false;
  handler_.ended(*this, record_.status);
  if (close_after_) {
    linger();
    return;
  }
  state_ = State::kReading;
  deadline_ = Clock::now() + limits_.idle;
  process_input();
  read();
}

// Says goodbye and reads on for a while: closing with unread input would take the response away from
// the client.
void Connection::linger() {
  state_ = State::kLingering;
  boost::system::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  input_.clear();
  deadline_ = Clock::now() + kLingerTime;
  read();
}

// The client is gone, or is treated as if it were.
void Connection::vanish() {
  if (state_ == State::kClosed) return;
  const bool answering = state_ == State::kAnswering || state_ == State::kStreaming;
  if (answering) handler_.ended(*this, 499);
  if (auto gone = std::exchange(gone_, nullptr)) gone();
  close();
}

void Connection::close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  boost::system::error_code ignored;
  socket_.close(ignored);
  gone_ = nullptr;
  handler_.closed(*this);
}

void Connection::tick(Clock::time_point now) {
  switch (state_) {
    case State::kReading:
      if (backlog() > 0 && now - progress_ > limits_.write_stall) {
        vanish();
      } else if (now > deadline_ && reader_.begun()) {
        refuse(error_response(api::other_error(408, "timeout_error", "request_timeout",
                                               "The request took too long to arrive.")));
      } else if (now > deadline_) {
        close();
      }
      return;
    case State::kAnswering:
    case State::kStreaming:
      if (backlog() > 0 && now - progress_ > limits_.write_stall) {
        slow_ = true;
        vanish();
      } else if (state_ == State::kStreaming && now - last_event_ >= limits_.ping) {
        stream(": ping\n\n");
        flush();
      }
      return;
    case State::kLingering:
      if (now > deadline_) close();
      return;
    case State::kClosed: return;
  }
}

}  // namespace paternoster::server
