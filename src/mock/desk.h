// Who sits and who waits: gives seats in the order of arrival, plays each request's script to its
// connection at its times, and keeps what really happened. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/request.h"
#include "mock/connection.h"
#include "mock/script.h"
#include "mock/server.h"

namespace paternoster::mock {

class Desk {
 public:
  Desk(boost::asio::io_context& context, const MockOptions& options) : context_(context), options_(options) {}

  // Answers the request, sooner or later; counts it.
  void take(const std::shared_ptr<Connection>& connection, api::Ask ask, std::string request_id);

  const std::vector<MockRequest>& over() const { return over_; }
  std::size_t running() const { return running_; }
  std::size_t waiting() const { return waiting_.size(); }
  std::int64_t prompt_tokens() const { return prompt_tokens_; }
  std::int64_t output_tokens() const { return output_tokens_; }

 private:
  struct Guest;

  void seat(const std::shared_ptr<Guest>& guest);
  void play(const std::shared_ptr<Guest>& guest);
  void depart(Guest& guest, const Departure& departure, std::int64_t due_ns);
  void finish(const std::shared_ptr<Guest>& guest);
  void leave(const std::shared_ptr<Guest>& guest);
  void keep(const MockRequest& record);

  boost::asio::io_context& context_;
  const MockOptions& options_;
  std::set<std::shared_ptr<Guest>> present_;  // who waits, is served, or sits there in silence
  std::deque<std::shared_ptr<Guest>> waiting_;
  std::vector<MockRequest> over_;
  std::int64_t numbered_ = 0;
  std::size_t running_ = 0;
  std::int64_t prompt_tokens_ = 0;
  std::int64_t output_tokens_ = 0;
};

}  // namespace paternoster::mock
