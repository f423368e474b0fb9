#include "bench/metrics_watch.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace paternoster::bench {
namespace {

constexpr std::size_t kMostText = std::size_t{4} << 20;

}  // namespace

double ServerWatch::peak_kv_usage() const {
  double peak = 0;
  for (const ServerSample& sample : samples) peak = std::max(peak, sample.kv_usage);
  return peak;
}

double metric_in(std::string_view text, std::string_view name) {
  double sum = std::nan("");
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    if (line.empty() || (line.front() != '{' && line.front() != ' ')) continue;
    if (line.front() == '{') line.remove_prefix(std::min(line.rfind('}') + 1, line.size()));
    while (line.starts_with(' ')) line.remove_prefix(1);
    double value = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), value).ec != std::errc()) continue;
    sum = std::isnan(sum) ? value : sum + value;
  }
  return sum;
}

MetricsWatch::MetricsWatch(boost::asio::io_context& context, client::Caller& caller, std::chrono::milliseconds period)
    : caller_(caller), period_(period), timer_(context) {}

MetricsWatch::~MetricsWatch() {
  if (asking_) caller_.cancel(call_);
}

void MetricsWatch::start() {
  stopped_ = false;
  began_ = client::Clock::now();
  ask();
}

void MetricsWatch::ask() {
  body_.clear();
  status_ = 0;
  asking_ = true;
  client::Call call;
  call.method = "GET";
  call.path = "/metrics";
  call_ = caller_.start(std::move(call), *this);
}

void MetricsWatch::on_head(const client::ResponseHead& head, client::Clock::time_point) { status_ = head.status; }

void MetricsWatch::on_body(std::string_view bytes, client::Clock::time_point) {
  if (body_.size() + bytes.size() <= kMostText) body_ += bytes;
}

void MetricsWatch::on_end(client::CallEnd end, const std::string&, client::Clock::time_point now) {
  asking_ = false;
  if (stopped_ || end != client::CallEnd::kDone || status_ != 200) return;
  const double running = metric_in(body_, "vllm:num_requests_running");
  if (std::isnan(running)) return;
  watch_.told = true;
  const auto or_zero = [](double value) { return std::isnan(value) ? 0 : value; };
  ServerSample sample;
  sample.at_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now - began_).count();
  sample.running = running;
  sample.waiting = or_zero(metric_in(body_, "vllm:num_requests_waiting"));
  sample.kv_usage = or_zero(metric_in(body_, "vllm:kv_cache_usage_perc"));
  watch_.samples.push_back(sample);
  take(body_);
  timer_.expires_after(period_);
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](boost::system::error_code cancelled) {
    if (!cancelled && !alive.expired() && !stopped_) ask();
  });
}

void MetricsWatch::take(std::string_view text) {
  const double preemptions = metric_in(text, "vllm:num_preemptions_total");
  if (std::isnan(preemptions)) return;
  if (first_preemptions_ < 0) first_preemptions_ = preemptions;
  watch_.preemptions = preemptions - first_preemptions_;
}

ServerWatch MetricsWatch::stop(std::string_view last_look) {
  stopped_ = true;
  timer_.cancel();
  if (asking_) caller_.cancel(call_);
  asking_ = false;
  take(last_look);
  return std::move(watch_);
}

}  // namespace paternoster::bench
