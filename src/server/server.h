// The HTTP edge for any backend: listens, answers OpenAI's routes, health, metrics, the page and the
// live feed, and drains when it is told to.
//
// One I/O thread, the one that calls `run`. The backend is ready or getting ready before `create`; it
// and the metrics outlive the server.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/backend.h"
#include "base/result.h"
#include "measure/serving.h"
#include "server/api_keys.h"
#include "server/connection.h"

namespace paternoster::server {

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;  // 0: any free one
  std::size_t max_connections = 4096;
  ConnectionLimits limits;
  ApiKeys keys;
  std::string key_file;                    // read again on SIGHUP; empty: never
  std::chrono::seconds drain_timeout{0};   // then what still runs is ended; 0: it may take as long as it takes
  std::vector<std::string> aliases;        // further names of the model
  std::vector<std::string> allowed_hosts;  // names that may stand in Host beside this machine's own
  bool log_json = false;
  bool handle_signals = true;  // SIGTERM and SIGINT drain, a second one stops at once; SIGHUP reads keys
  std::string version;
};

class Server {
 public:
  // Binds the port; the error is one line.
  static Result<std::unique_ptr<Server>> create(ServerOptions options, api::Backend& backend,
                                                measure::ServingMetrics& metrics);
  ~Server();

  std::uint16_t port() const;
  std::string address() const;  // "http://127.0.0.1:8080"

  // Serves until drained (0; also if the drain's time was up), or stopped with requests under way (1).
  int run();

  // From any thread.
  void drain();
  void stop();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace paternoster::server
