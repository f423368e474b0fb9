// Plays a workload to a server and keeps what was seen: open loop by the arrivals' times, closed loop by
// their answers (workload.h). One thread, which `run` is called on; thousands of streams.
//
// The clock starts when the first request may go. A request is sent when its time has come, or later if
// this program is behind or `most_in_flight` are under way: its latency counts from its time all the
// same. What this program itself is behind is measured (lateness of each request; lag of its loop).
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/prompts.h"
#include "bench/request_body.h"
#include "bench/stream_watch.h"
#include "client/caller.h"
#include "measure/distribution.h"
#include "workload/workload.h"

namespace paternoster::bench {

struct LoadOptions {
  RequestBody body;  // what all requests share
  std::int32_t most_in_flight = 0;     // 0: no limit
  std::int64_t stop_sending_ns = 0;    // nobody is sent from then on; 0: until the workload ends
  bool keep_text = false;
  bool send_guesses = false;           // of each answer's length, as `expected_tokens`
  std::map<std::string, std::string> tenant_keys;  // API keys; a tenant without one is only named
};

struct Progress {
  double elapsed_s = 0;
  std::uint64_t sent = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::size_t in_flight = 0;
  double tokens_per_second = 0;  // lately
  std::uint64_t planned = 0;     // 0: open end
};

struct LoadResult {
  std::vector<Sighting> sightings;  // in the order of sending
  std::int64_t duration_ns = 0;     // to the last end
  std::int64_t sending_ns = 0;      // to the last request's time
  measure::Distribution loop_lag;   // ns: how late this program's own timer was
  std::size_t most_in_flight = 0;
  bool stopped = false;             // by request_stop, before the workload's end
  client::CallerCounts connections;
};

class Load {
 public:
  Load(boost::asio::io_context& context, client::Caller& caller, workload::Source& source,
       const PromptMaker& prompts, LoadOptions options);
  ~Load();

  // `report` is called about twice a second.
  LoadResult run(const std::function<void(const Progress&)>& report = {});
  // From a callback of the same context (a signal, a report): requests under way are cancelled.
  void request_stop();

 private:
  struct Flight;

  void plan_next();
  void send_due();
  void send(const workload::Arrival& arrival);
  void end(std::uint64_t number, StreamWatch& watch);
  void look_around();
  void look(Clock::time_point now);
  void plan_soon();
  bool may_send() const;
  bool over() const;
  std::int64_t now_ns() const;
  client::Call call_of(const workload::Arrival& arrival) const;
  measure::RequestRecord record_of(const workload::Arrival& arrival) const;

  boost::asio::io_context& context_;
  client::Caller& caller_;
  workload::Source& source_;
  const PromptMaker& prompts_;
  LoadOptions options_;
  Clock::time_point epoch_;
  boost::asio::steady_timer next_timer_;
  boost::asio::steady_timer look_timer_;
  std::map<std::uint64_t, std::unique_ptr<Flight>> flights_;
  std::vector<std::unique_ptr<Flight>> landed_;  // freed once nobody is inside them
  std::optional<client::Call> prepared_;  // of the next arrival
  Clock::time_point look_due_;
  LoadResult result_;
  std::function<void(const Progress&)> report_;
  Progress progress_;
  std::int64_t tokens_seen_ = 0;  // of ended requests
  std::int64_t tokens_told_ = 0;
  std::int64_t reported_ns_ = 0;
  bool waking_ = false;
  bool exhausted_ = false;
  // Gone with us: a timer that has fired may still stand in the context's queue.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace paternoster::bench
