// One line a request, as text or as members of a JSON line.
#pragma once

#include <memory>
#include <string>

#include "server/connection.h"

namespace spdlog {
class logger;
}

namespace paternoster::server {

// Makes the process's logger: lines on standard error, written by a thread of its own so that a slow
// reader of the log delays nobody; what does not fit its queue is dropped. Once, before anything logs.
void set_up_logging(bool json);

class AccessLog {
 public:
  explicit AccessLog(bool json) : json_(json) {}

  // Health checks and scrapes are told at debug level only.
  void write(const RequestRecord& record, int status) const;

 private:
  bool json_;
};

}  // namespace paternoster::server
