// One generating request while it is answered: its calls to the backend on one side, its connection on
// the other.
//
// The status line waits until every call is accepted, so that a refusal has its real status, streaming
// or not. Ends in exactly one of: answered, failed, abandoned (the client went away: its calls are
// cancelled).
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "api/backend.h"
#include "api/stream_reply.h"
#include "api/whole_reply.h"
#include "server/connection.h"

namespace paternoster::server {

class Exchange {
 public:
  Exchange(api::Ask ask, api::ReplyHeading heading, std::shared_ptr<Connection> connection);

  void take(std::size_t prompt, api::BackendEvent&& event);
  // Sends what the last events have added. True once the exchange is over.
  bool flush();

  Connection& connection() { return *connection_; }
  const std::vector<api::CallId>& calls() const { return calls_; }
  void add_call(api::CallId call) { calls_.push_back(call); }
  bool over() const { return over_; }
  bool answering() const { return answering_; }  // some of the answer has been generated
  void abandon() { over_ = true; }

 private:
  void fail(const api::ApiError& error);
  void finish();

  api::Ask ask_;
  std::shared_ptr<Connection> connection_;
  std::variant<api::StreamReply, api::WholeReply> reply_;
  std::vector<api::CallId> calls_;  // one a prompt
  std::size_t accepted_ = 0;
  std::size_t done_ = 0;
  std::string out_;  // of a stream, not yet given to the connection
  bool answering_ = false;
  bool over_ = false;
};

// The exchanges under way, found by their calls.
class Exchanges {
 public:
  // `retry_after_ms` says when to come again, for refusals that do not say it themselves.
  Exchanges(api::Backend& backend, std::function<std::int64_t()> retry_after_ms)
      : backend_(backend), retry_after_ms_(std::move(retry_after_ms)) {}

  // Hands the Ask's generations to the backend.
  void begin(api::Ask ask, api::ReplyHeading heading, const std::shared_ptr<Connection>& connection,
             const std::string& request_id);
  void take(std::vector<api::BackendEvent>&& events);

  std::size_t count() const { return by_connection_.size(); }
  // Told when a client goes away: whether its answer had begun.
  void when_abandoned(std::function<void(bool answering)> told) { told_ = std::move(told); }

 private:
  struct Place {
    std::shared_ptr<Exchange> exchange;
    std::size_t prompt;
  };

  void abandon(Connection* connection);
  void forget(Exchange& exchange, bool cancel);

  api::Backend& backend_;
  std::function<std::int64_t()> retry_after_ms_;
  std::unordered_map<api::CallId, Place> by_call_;
  std::unordered_map<Connection*, std::shared_ptr<Exchange>> by_connection_;
  std::vector<std::shared_ptr<Exchange>> touched_;
  std::function<void(bool)> told_;
};

}  // namespace paternoster::server
