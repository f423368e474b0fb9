// What each path answers. Knows no listening sockets: connections hand it requests, it answers them
// through the backend. Everything happens on the I/O thread, but for tokenizing, which a clerk thread
// does so that long texts delay nobody.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "api/backend.h"
#include "measure/serving.h"
#include "server/access_log.h"
#include "server/exchange.h"
#include "server/host_guard.h"
#include "server/key_limits.h"
#include "server/relay.h"
#include "server/server.h"
#include "server/server_metrics.h"

namespace paternoster::server {

class Service final : public RequestHandler {
 public:
  Service(boost::asio::io_context& context, const ServerOptions& options, api::Backend& backend,
          measure::ServingMetrics& metrics);
  ~Service() override;

  // Takes a new client in, or turns it away when there are too many.
  void accept(boost::asio::ip::tcp::socket socket);
  void tick(Clock::time_point now);
  void begin_drain();
  // The drain's time is up: what still runs ends with an error.
  void end_requests();
  // Reads the key file anew. If it is not right, what was read before stays.
  void reload_keys();
  // Draining, and everybody has had the answer.
  bool drained() const;
  bool busy() const { return exchanges_.count() > 0; }
  void close_all();

  std::optional<Response> refuse_early(Connection& connection, const HttpRequest& request) override;
  void handle(const std::shared_ptr<Connection>& connection, HttpRequest&& request) override;
  void ended(Connection& connection, int status) override;
  void closed(Connection& connection) override;
  bool draining() const override { return draining_; }

 private:
  struct Route;
  using Answer = void (Service::*)(const std::shared_ptr<Connection>&, HttpRequest&&);

  static const Route* find_route(std::string_view path);
  std::optional<api::ApiError> fault_of(const HttpRequest& request) const;
  void name_request(Connection& connection, const HttpRequest& request);

  void chat(const std::shared_ptr<Connection>& connection, HttpRequest&& request);
  void completions(const std::shared_ptr<Connection>& connection, HttpRequest&& request);
  void generate(const std::shared_ptr<Connection>& connection, const HttpRequest& request,
                api::ApiResult<api::Ask> ask);
  void models(const std::shared_ptr<Connection>& connection, HttpRequest&& request);
  void model(const std::shared_ptr<Connection>& connection, HttpRequest&& request);
  void tokenize(const std::shared_ptr<Connection>& connection, HttpRequest&& request);
  void detokenize(const std::shared_ptr<Connection>& connection, HttpRequest&& request);
  void health(const std::shared_ptr<Connection>& connection, HttpRequest&& request);
  void live_health(const std::shared_ptr<Connection>& connection, HttpRequest&& request);
  void metrics(const std::shared_ptr<Connection>& connection, HttpRequest&& request);
  void cancel_request(const std::shared_ptr<Connection>& connection, HttpRequest&& request);
  void debug_requests(const std::shared_ptr<Connection>& connection, HttpRequest&& request);
  void props(const std::shared_ptr<Connection>& connection, HttpRequest&& request);
  void live(const std::shared_ptr<Connection>& connection, HttpRequest&& request);
  void page(const std::shared_ptr<Connection>& connection, HttpRequest&& request);

  // The name of the key that asks; empty where there are no keys.
  std::string owner_of(const HttpRequest& request) const;
  void answer_debug(std::vector<api::RequestStatus>&& requests);
  void watch_progress();
  void ask_clerk(const std::shared_ptr<Connection>& connection,
                 std::function<api::ApiResult<std::string>()> work);
  void show(const api::LiveFrame& frame);
  void stop_watching(Connection* connection);

  boost::asio::io_context& context_;
  const ServerOptions& options_;
  api::Backend& backend_;
  measure::ServingMetrics& metrics_;
  ServerMetrics counters_;
  api::ModelCard card_;
  HostGuard guard_;
  ApiKeys keys_;
  KeyLimits limits_;
  AccessLog log_;
  Exchanges exchanges_;
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;
  std::unordered_set<Connection*> watchers_;  // of the live feed
  Relay relay_;
  boost::asio::thread_pool clerk_{1};
  // Who waits for the backend's list of requests, and whose they may see.
  std::vector<std::pair<std::shared_ptr<Connection>, std::string>> list_readers_;
  bool stall_told_ = false;
  std::uint64_t named_ = 0;
  bool draining_ = false;
};

}  // namespace paternoster::server
