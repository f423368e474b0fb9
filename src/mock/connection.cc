#include "mock/connection.h"

#include <boost/asio/write.hpp>
#include <cstdio>

namespace paternoster::mock {

namespace asio = boost::asio;
using Error = boost::system::error_code;

void Connection::start() {
  Error ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  read();
}

void Connection::read() {
  socket_.async_read_some(asio::buffer(room_), [self = shared_from_this()](Error error, std::size_t bytes) {
    if (self->closed_) return;
    if (error) {
      self->close();
      if (self->answering_ && self->gone_) std::exchange(self->gone_, nullptr)();
      return;
    }
    self->input_.append(self->room_.data(), bytes);
    if (!self->answering_) self->process_input();
    if (!self->closed_) self->read();
  });
}

void Connection::process_input() {
  using Status = server::RequestReader::Status;
  while (!answering_ && !closed_ && !input_.empty()) {
    const Status status = reader_.feed(input_);
    if (status == Status::kMore) return;
    if (status == Status::kHead && reader_.request().expects_continue) send("HTTP/1.1 100 Continue\r\n\r\n");
    if (status == Status::kHead) continue;
    answering_ = true;
    close_after_ = status == Status::kBad || !reader_.request().keep_alive;
    if (status == Status::kBad) {
      respond(server::error_response(reader_.error()));
    } else {
      server::HttpRequest request = std::move(reader_.request());
      reader_.reset();
      on_request_(shared_from_this(), std::move(request));
    }
  }
}

void Connection::respond(const server::Response& response) {
  server::HeadOptions head;
  head.length = static_cast<long long>(response.body.size());
  head.close = close_after_;
  send(server::response_head(response.status, response.content_type, response.headers, head));
  send(response.body);
  answer_over_ = true;
  write();
}

void Connection::begin_stream() {
  server::HeadOptions head;
  close_after_ = close_after_ || options_.until_closed;
  head.chunked = !options_.until_closed;
  head.close = close_after_;
  send(server::response_head(200, "text/event-stream", {{"Cache-Control", "no-cache"}}, head));
  write();
}

void Connection::stream(std::string_view bytes) {
  if (bytes.empty()) return;  // an empty chunk would end the body
  if (options_.until_closed) {
    send(bytes);
  } else {
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
    send(size);
    send(bytes);
    send("\r\n");
  }
  write();
}

void Connection::end_stream() {
  if (!options_.until_closed) send("0\r\n\r\n");
  answer_over_ = true;
  write();
}

void Connection::cut() {
  close_after_ = true;
  answer_over_ = true;
  write();
}

void Connection::send(std::string_view bytes) { pending_ += bytes; }

void Connection::write() {
  if (write_active_ || closed_) return;
  if (pending_.empty()) {
    if (answer_over_) finish();
    return;
  }
  const std::size_t most = options_.split_bytes > 0 ? static_cast<std::size_t>(options_.split_bytes) : pending_.size();
  writing_ = pending_.substr(0, most);
  pending_.erase(0, most);
  write_active_ = true;
  asio::async_write(socket_, asio::buffer(writing_), [self = shared_from_this()](Error error, std::size_t) {
    self->write_active_ = false;
    if (error || self->closed_) return;  // reading tells
    self->write();
  });
}

void Connection::finish() {
  answer_over_ = false;
  answering_ = false;
  gone_ = nullptr;
  if (close_after_) {
    close();
  } else {
    process_input();
  }
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  Error ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
}

}  // namespace paternoster::mock
