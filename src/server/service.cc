#include "server/service.h"

#include <sys/socket.h>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/post.hpp>

namespace paternoster::server {

namespace asio = boost::asio;

Service::Service(asio::io_context& context, const ServerOptions& options, api::Backend& backend,
                 measure::ServingMetrics& metrics)
    : context_(context),
      options_(options),
      backend_(backend),
      metrics_(metrics),
      counters_(metrics.registry(), options.version),
      card_(backend.model()),
      guard_(options.host, options.allowed_hosts),
      keys_(options.keys),
      log_(options.log_json),
      exchanges_(backend, [this] { return metrics_.retry_after_ms(); }),
      relay_(
          context,
          [this](std::vector<api::BackendEvent>&& events) { exchanges_.take(std::move(events)); },
          [this](const api::LiveFrame& frame) { show(frame); },
          [this](std::vector<api::RequestStatus>&& requests) { answer_debug(std::move(requests)); }) {
  card_.aliases.insert(card_.aliases.end(), options.aliases.begin(), options.aliases.end());
  exchanges_.when_abandoned([this](bool answering) {
    (answering ? counters_.gone_answering : counters_.gone_waiting).add();
  });
  exchanges_.when_over([this](const Exchange& exchange) {
    limits_.charge(exchange.owner(), exchange.tokens());
    limits_.end(exchange.owner());
  });
  backend_.attach(&relay_);
}

Service::~Service() {
  backend_.attach(nullptr);
  clerk_.join();
}

void Service::accept(asio::ip::tcp::socket socket) {
  if (connections_.size() >= options_.max_connections) {
    counters_.connections_refused.add();
    constexpr std::string_view kFull =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
        "Connection: close\r\n\r\n";
    // The socket closes right away; what does not fit its buffer is lost.
    static_cast<void>(::send(socket.native_handle(), kFull.data(), kFull.size(),
                             MSG_DONTWAIT | MSG_NOSIGNAL));
    return;
  }
  const auto connection = std::make_shared<Connection>(std::move(socket), *this, options_.limits);
  connections_[connection.get()] = connection;
  counters_.connections.set(static_cast<double>(connections_.size()));
  connection->start();
}

void Service::tick(Clock::time_point now) {
  std::vector<std::shared_ptr<Connection>> all;
  all.reserve(connections_.size());
  for (const auto& [raw, connection] : connections_) all.push_back(connection);
  for (const auto& connection : all) connection->tick(now);
  watch_progress();
}

// Says once when an engine with work ends no step any more, and once when it goes on.
void Service::watch_progress() {
  const api::Health health = backend_.health();
  const bool stalled = health.readiness == api::Readiness::kStalled;
  if (stalled == stall_told_) return;
  stall_told_ = stalled;
  if (stalled) {
    spdlog::error("no step has ended for {} ms: {} run, {} wait; not ready until one ends",
                  health.last_step_age_ns / 1'000'000, health.running, health.waiting);
  } else {
    spdlog::warn("steps end again");
  }
}

void Service::begin_drain() {
  draining_ = true;
  backend_.drain();
}

void Service::end_requests() {
  spdlog::warn("the drain's time is up: {} requests end with an error", exchanges_.count());
  api::ApiError error = api::draining();
  error.message = "The server has shut down before the answer was complete.";
  exchanges_.fail_all(error);
}

void Service::reload_keys() {
  if (options_.key_file.empty()) return;
  auto keys = ApiKeys::read(options_.key_file);
  if (keys) {
    keys_ = std::move(*keys);
    spdlog::info("the keys were read again");
  } else {
    spdlog::error("{}; the keys read before stay", keys.error().message);
  }
}

bool Service::drained() const {
  if (!draining_ || busy()) return false;
  return std::ranges::all_of(connections_, [this](const auto& entry) {
    return watchers_.contains(entry.first) || entry.second->backlog() == 0;
  });
}

void Service::close_all() {
  while (!connections_.empty()) {
    const auto connection = connections_.begin()->second;
    connection->close();
  }
}

void Service::ended(Connection& connection, int status) {
  // The live feed has no end of its own: its reader leaves.
  if (status == 499 && watchers_.contains(&connection) && !connection.dropped_as_slow()) status = 200;
  counters_.responses(status).add();
  if (connection.dropped_as_slow()) counters_.slow_readers.add();
  log_.write(connection.record(), status);
}

void Service::closed(Connection& connection) {
  stop_watching(&connection);
  connections_.erase(&connection);
  counters_.connections.set(static_cast<double>(connections_.size()));
}

void Service::show(const api::LiveFrame& frame) {
  if (watchers_.empty()) return;
  std::string event = "data: ";
  append_json(event, frame);
  event += "\n\n";
  // A watcher that is behind misses frames; it is not dropped for that.
  constexpr std::size_t kMostBehind = 64 * 1024;
  const std::vector<Connection*> all(watchers_.begin(), watchers_.end());
  for (Connection* watcher : all) {
    if (watcher->backlog() > kMostBehind) continue;
    watcher->stream(event);
    watcher->flush();
  }
}

void Service::stop_watching(Connection* connection) {
  if (watchers_.erase(connection) == 0) return;
  counters_.live_watchers.set(static_cast<double>(watchers_.size()));
  if (watchers_.empty()) backend_.watch_live(false);
}

}  // namespace paternoster::server
