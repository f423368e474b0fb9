// Calls one HTTP server: thousands of requests at a time from one thread, over kept connections.
//
// Everything happens on the thread that runs the io_context, which outlives the Caller. A call's
// listener hears, in this order: sending, head, body (any number of times), end (exactly once, and then
// nothing); after `cancel`, or when the Caller is gone, nothing. It may start and cancel calls from
// within, its own included. Time points are taken as soon as the bytes are there, once for all that
// came together.
//
// A kept connection that the server has closed meanwhile is found out only by using it: then the call,
// of which no byte has been answered, goes once more over a new one, and `sending` is heard again.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "client/response_reader.h"
#include "client/transport.h"
#include "client/url.h"

namespace paternoster::client {

using Clock = std::chrono::steady_clock;
using CallId = Id<struct ClientCallTag, std::uint64_t>;

struct Call {
  std::string method = "POST";
  std::string path;  // behind the server's own, "/v1/chat/completions"
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  // JSON
  std::string api_key;  // empty: the server's
};

enum class CallEnd : std::uint8_t {
  kDone,          // the response is whole, whatever its status
  kUnreachable,   // no connection
  kDisconnected,  // cut off before its end
  kTimeout,
  kBadAnswer,     // not HTTP
};

class CallListener {
 public:
  virtual ~CallListener() = default;
  // The connection stands and the first byte goes out.
  virtual void on_sending(Clock::time_point now) { static_cast<void>(now); }
  virtual void on_head(const ResponseHead& head, Clock::time_point now) = 0;
  virtual void on_body(std::string_view bytes, Clock::time_point now) = 0;
  virtual void on_end(CallEnd end, const std::string& error, Clock::time_point now) = 0;
};

struct CallerOptions {
  ServerUrl url;
  std::string api_key;
  bool verify_tls = true;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds silence_timeout{300'000};  // without a byte of the answer
  std::chrono::milliseconds total_timeout{0};          // of a call; 0: none
};

struct CallerCounts {
  std::int64_t opened = 0;  // connections
  std::int64_t reused = 0;
  std::int64_t resent = 0;  // calls that met a connection already closed
};

class Caller {
 public:
  static Result<std::unique_ptr<Caller>> create(boost::asio::io_context& context, CallerOptions options);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // `listener` lives until it has heard the end, or the call is cancelled.
  CallId start(Call call, CallListener& listener);
  void cancel(CallId call);

  std::size_t under_way() const { return exchanges_.size(); }
  const CallerCounts& counts() const { return counts_; }
  const ServerUrl& url() const { return options_.url; }

 private:
  class Exchange;
  friend class Exchange;

  Caller(boost::asio::io_context& context, CallerOptions options, Endpoints endpoints);
  std::shared_ptr<Transport> take_idle();
  void keep(std::shared_ptr<Transport> transport);
  std::string request_bytes(const Call& call) const;
  void tick();

  boost::asio::io_context& context_;
  CallerOptions options_;
  Endpoints endpoints_;
  std::shared_ptr<boost::asio::ssl::context> tls_;
  std::vector<std::pair<std::shared_ptr<Transport>, Clock::time_point>> idle_;  // newest last
  std::unordered_map<CallId, std::shared_ptr<Exchange>> exchanges_;
  std::shared_ptr<boost::asio::steady_timer> ticker_;
  bool ticking_ = false;
  std::uint64_t last_id_ = 0;
  CallerCounts counts_;
};

}  // namespace paternoster::client
