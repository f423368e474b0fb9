// Looks at a server's /metrics while a run is under way: who runs, who waits, how full the KV cache is.
// Reads vLLM's names, which many servers have, ours among them. A server without them is asked once.
// On the thread that runs the context; asks again only when the last answer is there, so a slow server
// is not asked more often than it answers.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/caller.h"

namespace paternoster::bench {

struct ServerSample {
  std::int64_t at_ns = 0;  // since the watch began
  double running = 0;
  double waiting = 0;
  double kv_usage = 0;  // 0..1
};

struct ServerWatch {
  std::vector<ServerSample> samples;
  double preemptions = 0;  // between the first look and the last
  bool told = false;       // the server has such metrics

  double peak_kv_usage() const;
};

// The value of a metric in Prometheus text, summed over its labels; NaN if it is not there.
double metric_in(std::string_view text, std::string_view name);

class MetricsWatch final : private client::CallListener {
 public:
  MetricsWatch(boost::asio::io_context& context, client::Caller& caller, std::chrono::milliseconds period);
  ~MetricsWatch() override;

  void start();
  // A last look is the caller's: give it the text of /metrics, or nothing.
  ServerWatch stop(std::string_view last_look);

 private:
  void ask();
  void take(std::string_view text);
  void on_head(const client::ResponseHead& head, client::Clock::time_point now) override;
  void on_body(std::string_view bytes, client::Clock::time_point now) override;
  void on_end(client::CallEnd end, const std::string& error, client::Clock::time_point now) override;

  client::Caller& caller_;
  std::chrono::milliseconds period_;
  boost::asio::steady_timer timer_;
  client::Clock::time_point began_;
  client::CallId call_;
  bool asking_ = false;
  bool stopped_ = true;
  int status_ = 0;
  std::string body_;
  double first_preemptions_ = -1;
  ServerWatch watch_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // gone with us: our timer may have fired already
};

}  // namespace paternoster::bench
