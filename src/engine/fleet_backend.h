// Several engines behind one port: each call goes to the engine that the fleet's placement chooses, and
// stays there. What the engines tell comes out as if one had told it; health, requests and live frames
// are put together. Answers do not depend on where a call went.
//
// Knows its engines only as api::Backend, so that any kind will do. What it asks of them: call ids are
// all different, and id % engines is the engine's number (CallNumbers, options.h).
//
// Threads as in api/backend.h: any thread may call. Engines deliver from threads of their own; the
// outlet hears them one at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "api/backend.h"
#include "engine/together.h"
#include "fleet/fleet.h"

namespace paternoster::engine {

class FleetBackend final : public api::Backend {
 public:
  // At least one engine; all serve the same model.
  FleetBackend(std::vector<std::unique_ptr<api::Backend>> engines, fleet::Placement placement);
  ~FleetBackend() override;

  void attach(api::Outlet* outlet) override;
  api::CallId generate(api::Generation generation) override;
  void cancel(api::CallId call) override;
  void stop(api::CallId call) override;
  api::ApiResult<api::Tokenized> tokenize(const api::Prompt& prompt, bool add_special_tokens,
                                          bool want_pieces) const override;
  api::ApiResult<std::string> detokenize(const std::vector<TokenId>& tokens) const override;
  api::ApiResult<std::string> render(const api::ChatPrompt& prompt) const override;
  const api::ModelCard& model() const override { return card_; }
  api::Health health() const override;
  void list_requests() override;
  void watch_live(bool on) override;
  void drain() override;

  // How much the fleet thinks each engine has to do, and has been given. For tests and the log.
  fleet::InstanceStats stats(std::size_t engine) const;

 private:
  class Gate;
  struct Trip {
    RequestId request;  // as the fleet counts
    fleet::BatchId batch;
    std::int64_t prompt_bytes = 0;  // 0: it came as tokens
    std::int32_t most_tokens = 1;   // a choice may say, as the fleet was told
    std::int32_t choices = 1;
  };
  // A list_requests that not every engine has answered.
  struct Asking {
    std::vector<api::RequestStatus> answers;
    std::size_t missing = 0;
  };

  std::size_t engine_of(api::CallId call) const { return call.value % engines_.size(); }
  std::size_t place(const api::Generation& generation, Trip& trip);
  void hear(std::vector<api::BackendEvent>&& events);
  void note(const api::BackendEvent& event);
  void end_trip(api::CallId call, std::int32_t tokens);
  void show(std::size_t engine, api::LiveFrame&& frame);
  void list(std::size_t engine, std::vector<api::RequestStatus>&& requests);

  std::vector<std::unique_ptr<Gate>> gates_;  // before engines_: they outlive them
  std::vector<std::unique_ptr<api::Backend>> engines_;
  api::ModelCard card_;

  mutable std::mutex fleet_mutex_;
  fleet::Fleet fleet_;  // guarded by fleet_mutex_, as are the next four
  std::unordered_map<api::CallId, Trip> trips_;
  std::uint64_t last_request_ = 0;
  std::int64_t prompt_bytes_ = 4;  // of prompts whose tokens have been counted, and these tokens
  std::int64_t prompt_tokens_ = 1;

  std::mutex outlet_mutex_;
  api::Outlet* outlet_ = nullptr;  // guarded by outlet_mutex_, as are the next three
  FrameBoard board_;
  std::deque<Asking> asking_;          // the oldest first
  std::vector<std::size_t> answered_;  // how many of asking_ each engine has answered
};

}  // namespace paternoster::engine
