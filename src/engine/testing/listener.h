// For this layer's tests alone: an outlet that keeps everything it hears.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/backend.h"

namespace paternoster::engine {

// Everything that is delivered, by call.
class Listener final : public api::Outlet {
 public:
  struct Heard {
    std::vector<api::BackendEvent> events;
    std::map<int, std::string> text;
    std::map<int, std::vector<TokenId>> tokens;
    std::map<int, std::vector<api::TokenLogprobs>> logprobs;
    std::map<int, api::Finished> finished;
    std::optional<api::Done> done;
    std::optional<api::ApiError> refused;
    std::string echo;
    std::vector<api::TokenLogprobs> echo_logprobs;
  };

  void deliver(std::vector<api::BackendEvent>&& events) override {
    const std::lock_guard lock(mutex_);
    for (api::BackendEvent& event : events) {
      Heard& heard = heard_[api::call_of(event)];
      if (auto* delta = std::get_if<api::Delta>(&event)) {
        if (delta->prompt) {
          heard.echo = delta->text;
          heard.echo_logprobs = delta->logprobs;
        } else {
          heard.text[delta->choice] += delta->text;
          auto& tokens = heard.tokens[delta->choice];
          tokens.insert(tokens.end(), delta->token_ids.begin(), delta->token_ids.end());
          auto& logprobs = heard.logprobs[delta->choice];
          logprobs.insert(logprobs.end(), delta->logprobs.begin(), delta->logprobs.end());
        }
      }
      if (auto* finished = std::get_if<api::Finished>(&event)) heard.finished[finished->choice] = *finished;
      if (auto* done = std::get_if<api::Done>(&event)) heard.done = *done;
      if (auto* refused = std::get_if<api::Refused>(&event)) heard.refused = refused->error;
      heard.events.push_back(std::move(event));
    }
    changed_.notify_all();
  }
  void show(api::LiveFrame&& frame) override {
    const std::lock_guard lock(mutex_);
    frames.push_back(std::move(frame));
  }

  void list(std::vector<api::RequestStatus>&& requests) override {
    const std::lock_guard lock(mutex_);
    listed_ = std::move(requests);
    changed_.notify_all();
  }
  std::vector<api::RequestStatus> wait_for_list() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(120), [&] { return listed_.has_value(); }));
    return *std::exchange(listed_, {});
  }

  Heard wait_for(api::CallId call) {
    std::unique_lock lock(mutex_);
    const bool ended = changed_.wait_for(lock, std::chrono::seconds(120), [&] {
      return heard_[call].done.has_value() || heard_[call].refused.has_value();
    });
    EXPECT_TRUE(ended);
    return heard_[call];
  }
  // Waits until some text of the call has come.
  void wait_for_text(api::CallId call) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(120), [&] { return !heard_[call].text.empty(); });
  }
  std::vector<api::LiveFrame> take_frames() {
    const std::lock_guard lock(mutex_);
    return std::exchange(frames, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<api::CallId, Heard> heard_;
  std::vector<api::LiveFrame> frames;
  std::optional<std::vector<api::RequestStatus>> listed_;
};

}  // namespace paternoster::engine
