#include "server/server_metrics.h"

#include <algorithm>
#include <chrono>

namespace paternoster::server {
namespace {

auto status_counters(measure::Registry& registry) {
  std::array<measure::Counter*, ServerMetrics::kStatuses.size()> counters{};
  for (std::size_t i = 0; i < counters.size(); ++i) {
    counters[i] = &registry.counter("paternoster_http_responses_total", "HTTP responses, by status.",
                                    {{"status", std::to_string(ServerMetrics::kStatuses[i])}});
  }
  return counters;
}

double seconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

ServerMetrics::ServerMetrics(measure::Registry& registry, const std::string& version)
    : by_status(status_counters(registry)),
      connections(registry.gauge("paternoster_http_connections", "Open connections.")),
      live_watchers(registry.gauge("paternoster_live_watchers", "Readers of the live feed.")),
      connections_refused(registry.counter("paternoster_http_connections_refused_total",
                                           "Connections closed at once: too many were open.")),
      slow_readers(registry.counter("paternoster_slow_readers_dropped_total",
                                    "Streams ended because their client did not read.")),
      gone_waiting(registry.counter("paternoster_client_disconnects_total",
                                    "Clients that went away before their answer's end.",
                                    {{"phase", "waiting"}})),
      gone_answering(registry.counter("paternoster_client_disconnects_total",
                                      "Clients that went away before their answer's end.",
                                      {{"phase", "answering"}})),
      unknown_fields(registry.counter("paternoster_unknown_fields_total",
                                      "Fields of requests that mean nothing here.")) {
  registry.gauge("paternoster_build_info", "The build that runs.", {{"version", version}}).set(1);
  registry.gauge("paternoster_start_time_seconds", "When the process began, since 1970.").set(seconds_now());
}

measure::Counter& ServerMetrics::responses(int status) {
  auto at = std::ranges::find(kStatuses, status);
  if (at == kStatuses.end()) at = std::ranges::find(kStatuses, 500);
  return *by_status[static_cast<std::size_t>(at - kStatuses.begin())];
}

}  // namespace paternoster::server
