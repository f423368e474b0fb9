// Carries what the engine's thread delivers to the I/O thread: one lock and at most one wake-up a step.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "api/backend.h"

namespace paternoster::server {

class Relay final : public api::Outlet {
 public:
  using TakeEvents = std::function<void(std::vector<api::BackendEvent>&&)>;
  using TakeFrame = std::function<void(const api::LiveFrame&)>;
  using TakeList = std::function<void(std::vector<api::RequestStatus>&&)>;

  // The functions are called on the thread that runs `context`.
  Relay(boost::asio::io_context& context, TakeEvents take_events, TakeFrame take_frame,
        TakeList take_list);

  void deliver(std::vector<api::BackendEvent>&& events) override;
  void show(api::LiveFrame&& frame) override;
  void list(std::vector<api::RequestStatus>&& requests) override;

 private:
  void wake();
  void drain();

  boost::asio::io_context& context_;
  TakeEvents take_events_;
  TakeFrame take_frame_;
  TakeList take_list_;
  std::mutex mutex_;
  std::vector<api::BackendEvent> events_;    // under mutex_, as is what follows
  std::optional<api::LiveFrame> frame_;      // the newest replaces one not yet shown
  std::optional<std::vector<api::RequestStatus>> requests_;  // likewise the newest
  bool woken_ = false;
};

}  // namespace paternoster::server
