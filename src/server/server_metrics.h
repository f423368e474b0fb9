// What the HTTP edge counts about itself, in the registry that everything shares.
#pragma once

#include <array>
#include <string>

#include "measure/metrics.h"

namespace paternoster::server {

struct ServerMetrics {
  ServerMetrics(measure::Registry& registry, const std::string& version);

  // The statuses that have a cell; others are counted as 500. 499: the client went away.
  static constexpr std::array<int, 18> kStatuses = {200, 204, 304, 400, 401, 403, 404, 405,
                                                    408, 409, 413, 415, 429, 431, 499, 500, 501, 503};
  measure::Counter& responses(int status);

  std::array<measure::Counter*, kStatuses.size()> by_status;
  measure::Gauge& connections;
  measure::Gauge& live_watchers;
  measure::Counter& connections_refused;
  measure::Counter& slow_readers;
  measure::Counter& gone_waiting;
  measure::Counter& gone_answering;
  measure::Counter& unknown_fields;
};

}  // namespace paternoster::server
