#include "bench/load.h"

#include <algorithm>
#include <boost/asio/post.hpp>

namespace paternoster::bench {

namespace {

constexpr std::chrono::milliseconds kLead{20};       // so that a request of time zero is not late already
constexpr std::chrono::milliseconds kLookAround{5};  // this loop's own lag is measured so often
constexpr std::int64_t kReportNs = 500'000'000;

}  // namespace

struct Load::Flight {
  Flight(measure::RequestRecord record, const StreamWatch::Options& options, std::function<void(StreamWatch&)> ended)
      : watch(std::move(record), options, std::move(ended)) {}
  StreamWatch watch;
  client::CallId call;
};

Load::Load(boost::asio::io_context& context, client::Caller& caller, workload::Source& source,
           const PromptMaker& prompts, LoadOptions options)
    : context_(context), caller_(caller), source_(source), prompts_(prompts), options_(std::move(options)),
      next_timer_(context), look_timer_(context) {}

Load::~Load() {
  for (const auto& [number, flight] : flights_) caller_.cancel(flight->call);
}

std::int64_t Load::now_ns() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - epoch_).count();
}

bool Load::may_send() const {
  return options_.most_in_flight == 0 || flights_.size() < static_cast<std::size_t>(options_.most_in_flight);
}

bool Load::over() const { return exhausted_ && flights_.empty(); }

measure::RequestRecord Load::record_of(const workload::Arrival& arrival) const {
  measure::RequestRecord record;
  record.id = arrival.number;
  record.class_name = source_.classes()[arrival.class_index].name;
  record.tenant = source_.tenants().empty() ? "" : source_.tenants()[arrival.tenant_index].name;
  record.scheduled_ns = arrival.at_ns;
  return record;
}

client::Call Load::call_of(const workload::Arrival& arrival) const {
  RequestBody body = options_.body;
  body.max_tokens = prompts_.max_tokens(arrival);
  const workload::ClassOfWork& work = source_.classes()[arrival.class_index];
  if (work.priority != 0) body.priority = work.priority;
  if (work.deadline_ns > 0) body.timeout_ms = std::max<std::int64_t>(work.deadline_ns / 1'000'000, 1);
  if (options_.send_guesses) body.expected_tokens = std::min(arrival.guessed_tokens, body.max_tokens);
  client::Call call;
  call.path = path_of(body.route);
  if (!source_.tenants().empty()) {
    body.user = source_.tenants()[arrival.tenant_index].name;
    if (!body.user.empty()) call.headers.emplace_back("x-gateway-inference-fairness-id", body.user);
    if (const auto key = options_.tenant_keys.find(body.user); key != options_.tenant_keys.end()) {
      call.api_key = key->second;
    }
  }
  if (!work.name.empty()) call.headers.emplace_back("x-gateway-inference-objective", work.name);
  call.headers.emplace_back("X-Request-Id", "bench-" + std::to_string(arrival.number));
  call.body = write_body(body, prompts_.make(source_, arrival));
  return call;
}

// Writes the next request before its time has come, and wakes up when it has.
void Load::plan_next() {
  if (exhausted_ || waking_) return;
  const workload::Arrival* arrival = source_.next();
  if (arrival == nullptr) {
    exhausted_ = flights_.empty();  // closed arrivals come with the answers
    return;
  }
  if (options_.stop_sending_ns > 0 && arrival->at_ns >= options_.stop_sending_ns) {
    exhausted_ = true;
    return;
  }
  if (!may_send()) return;  // an end will call again
  if (!prepared_) prepared_ = call_of(*arrival);
  waking_ = true;
  next_timer_.expires_at(epoch_ + std::chrono::nanoseconds(arrival->at_ns));
  next_timer_.async_wait([this, alive = std::weak_ptr(alive_)](boost::system::error_code cancelled) {
    if (alive.expired()) return;
    waking_ = false;
    if (!cancelled) send_due();
  });
}

void Load::send_due() {
  while (!exhausted_ && may_send()) {
    const workload::Arrival* arrival = source_.next();
    if (arrival == nullptr || arrival->at_ns > now_ns()) break;
    if (options_.stop_sending_ns > 0 && arrival->at_ns >= options_.stop_sending_ns) break;
    send(*arrival);
    source_.take();
  }
  plan_next();
}

void Load::send(const workload::Arrival& arrival) {
  const std::uint64_t number = arrival.number;
  StreamWatch::Options options;
  options.epoch = epoch_;
  options.keep_text = options_.keep_text;
  options.expected_input_tokens = prompts_.expected_tokens(arrival);
  auto flight = std::make_unique<Flight>(record_of(arrival), options,
                                         [this, number](StreamWatch& watch) { end(number, watch); });
  client::Call call = prepared_ ? std::move(*prepared_) : call_of(arrival);
  prepared_.reset();
  Flight& aloft = *flight;
  flights_.emplace(number, std::move(flight));
  ++progress_.sent;
  result_.sending_ns = std::max(result_.sending_ns, arrival.at_ns);
  result_.most_in_flight = std::max(result_.most_in_flight, flights_.size());
  aloft.call = caller_.start(std::move(call), aloft.watch);
}

void Load::end(std::uint64_t number, StreamWatch& watch) {
  const auto found = flights_.find(number);
  const measure::RequestRecord& record = watch.sighting().record;
  result_.duration_ns = std::max(result_.duration_ns, record.ended_ns);
  ++(record.completed() ? progress_.completed : progress_.failed);
  tokens_seen_ += record.output_tokens;
  source_.ended(record.ended_ns);
  result_.sightings.push_back(std::move(watch.sighting()));
  landed_.push_back(std::move(found->second));
  flights_.erase(found);
  if (!waking_) {
    plan_soon();
  } else if (const workload::Arrival* arrival = source_.next();
             arrival != nullptr && next_timer_.expiry() > epoch_ + std::chrono::nanoseconds(arrival->at_ns)) {
    next_timer_.cancel();  // somebody's turn has come before the one that is waited for
    plan_soon();
  }
}

// Not from within a callback of the Caller's.
void Load::plan_soon() {
  boost::asio::post(context_, [this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) plan_next();
  });
}

void Load::look_around() {
  look_due_ += kLookAround;
  look_timer_.expires_at(look_due_);
  look_timer_.async_wait([this, alive = std::weak_ptr(alive_)](boost::system::error_code cancelled) {
    if (cancelled || alive.expired()) return;
    look(Clock::now());
    look_around();
  });
}

void Load::look(Clock::time_point now) {
  result_.loop_lag.add(static_cast<double>((now - look_due_).count()));
  if (now - look_due_ > kLookAround) look_due_ = now;  // lags do not add up
  landed_.clear();
  const std::int64_t elapsed = now_ns();
  if (!report_ || elapsed - reported_ns_ < kReportNs) return;
  std::int64_t tokens = tokens_seen_;
  for (const auto& [number, flight] : flights_) tokens += flight->watch.tokens_so_far();
  progress_.elapsed_s = static_cast<double>(elapsed) / 1e9;
  progress_.in_flight = flights_.size();
  progress_.tokens_per_second = static_cast<double>(std::max<std::int64_t>(tokens - tokens_told_, 0)) * 1e9 /
                                static_cast<double>(elapsed - reported_ns_);
  progress_.planned = options_.stop_sending_ns > 0 ? 0 : source_.description().count;
  tokens_told_ = tokens;
  reported_ns_ = elapsed;
  report_(progress_);
}

void Load::request_stop() {
  if (over()) return;
  exhausted_ = true;
  result_.stopped = true;
  next_timer_.cancel();
  const Clock::time_point now = Clock::now();
  for (const auto& [number, flight] : flights_) {
    caller_.cancel(flight->call);
    flight->watch.cancel(now);
    result_.duration_ns = std::max(result_.duration_ns, flight->watch.sighting().record.ended_ns);
    result_.sightings.push_back(std::move(flight->watch.sighting()));
  }
  flights_.clear();
}

LoadResult Load::run(const std::function<void(const Progress&)>& report) {
  report_ = report;
  epoch_ = Clock::now() + kLead;
  look_due_ = epoch_;
  look_around();
  plan_next();
  context_.restart();
  while (!over() && context_.run_one() > 0) {
  }
  next_timer_.cancel();
  look_timer_.cancel();
  landed_.clear();
  std::ranges::sort(result_.sightings, {}, [](const Sighting& sighting) { return sighting.record.id; });
  result_.connections = caller_.counts();
  return std::move(result_);
}

}  // namespace paternoster::bench
