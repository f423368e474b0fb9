// One generating request while it is answered: its calls to the backend on one side, its connection on
// the other.
//
// The status line waits until every call is accepted, so that a refusal has its real status, streaming
// or not; where the client has set a timeout it waits for the first token, so that passing it in the
// queue or in prefill has its status too. Ends in exactly one of: answered, failed, abandoned (the client
// went away: its calls are cancelled).
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
  void fail(const api::ApiError& error);
  const std::string& owner() const;  // the name of the key that asked; empty: there are no keys
  // Prompt and output, all that is known so far.
  std::int64_t tokens() const { return tokens_; }

 private:
  void finish();
  bool may_begin() const;
  Headers queue_headers() const;

  api::Ask ask_;
  std::shared_ptr<Connection> connection_;
  std::variant<api::StreamReply, api::WholeReply> reply_;
  std::vector<api::CallId> calls_;  // one a prompt
  std::size_t accepted_ = 0;
  std::size_t done_ = 0;
  std::int64_t tokens_ = 0;
  std::int32_t ahead_ = 0;          // in the queue, of the prompt that waits longest
  std::int64_t starts_in_ns_ = -1;  // likewise
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
  // Ends the requests of this owner with this id, with what they have. How many there were.
  std::size_t stop(const std::string& owner, std::string_view request_id);
  // Ends them all with this error.
  void fail_all(const api::ApiError& error);

  std::size_t count() const { return by_connection_.size(); }
  // Told when a client goes away: whether its answer had begun.
  void when_abandoned(std::function<void(bool answering)> told) { told_ = std::move(told); }
  // Told when one ends, in whatever way.
  void when_over(std::function<void(const Exchange&)> told) { over_ = std::move(told); }

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
  std::function<void(const Exchange&)> over_;
};

}  // namespace paternoster::server
