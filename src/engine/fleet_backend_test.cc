// The fleet's backend over engines that say what a script tells them.
#include "engine/fleet_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/beginnings.h"

namespace paternoster::engine {
namespace {

using ::testing::ElementsAre;

// Remembers what it was asked; says what the test says.
class ScriptedEngine final : public api::Backend {
 public:
  ScriptedEngine(std::uint64_t engine, std::uint64_t engines) : engine_(engine), engines_(engines) {
    card_.id = "scripted";
    card_.max_len = 1000;
    card_.max_seqs = 4;
    card_.kv_tokens = 2000;
    card_.block_tokens = 16;
  }

  void attach(api::Outlet* outlet) override { outlet_ = outlet; }
  api::CallId generate(api::Generation) override {
    calls.push_back(api::CallId{++number_ * engines_ + engine_});
    return calls.back();
  }
  void cancel(api::CallId call) override { cancelled.push_back(call); }
  void stop(api::CallId call) override { stopped.push_back(call); }
  api::ApiResult<api::Tokenized> tokenize(const api::Prompt&, bool, bool) const override { return {}; }
  api::ApiResult<std::string> detokenize(const std::vector<TokenId>&) const override { return {}; }
  api::ApiResult<std::string> render(const api::ChatPrompt&) const override { return {}; }
  const api::ModelCard& model() const override { return card_; }
  api::Health health() const override { return health_now; }
  void list_requests() override { ++asked; }
  void watch_live(bool on) override { watched = on; }
  void drain() override { drained = true; }

  void say(api::BackendEvent event) {
    std::vector<api::BackendEvent> events;
    events.push_back(std::move(event));
    outlet_->deliver(std::move(events));
  }
  void finish(api::CallId call, std::int32_t tokens) {
    api::Done done;
    done.call = call;
    done.usage.completion_tokens = tokens;
    say(done);
  }
  api::Outlet& outlet() { return *outlet_; }

  std::vector<api::CallId> calls, cancelled, stopped;
  api::Health health_now{api::Readiness::kReady, -1, 0, 0};
  int asked = 0;
  bool watched = false;
  bool drained = false;

 private:
  std::uint64_t engine_, engines_;
  std::uint64_t number_ = 0;
  api::Outlet* outlet_ = nullptr;
  api::ModelCard card_;
};

class FleetListener final : public api::Outlet {
 public:
  void deliver(std::vector<api::BackendEvent>&& heard) override {
    for (auto& event : heard) events.push_back(std::move(event));
  }
  void show(api::LiveFrame&& frame) override { frames.push_back(std::move(frame)); }
  void list(std::vector<api::RequestStatus>&& requests) override { lists.push_back(std::move(requests)); }

  std::vector<api::BackendEvent> events;
  std::vector<api::LiveFrame> frames;
  std::vector<std::vector<api::RequestStatus>> lists;
};

class FleetBackendTest : public testing::Test {
 protected:
  void start(std::size_t engines, fleet::Placement placement) {
    std::vector<std::unique_ptr<api::Backend>> made;
    for (std::size_t at = 0; at < engines; ++at) {
      auto one = std::make_unique<ScriptedEngine>(at, engines);
      engines_.push_back(one.get());
      made.push_back(std::move(one));
    }
    backend_ = std::make_unique<FleetBackend>(std::move(made), placement);
    backend_->attach(&listener_);
  }
  static api::Generation text(const std::string& prompt, std::int32_t max_tokens = 10) {
    api::Generation generation;
    generation.prompt = api::TextPrompt{prompt};
    generation.max_tokens = max_tokens;
    return generation;
  }
  std::size_t where(api::CallId call) const { return call.value % engines_.size(); }

  std::vector<ScriptedEngine*> engines_;
  std::unique_ptr<FleetBackend> backend_;
  FleetListener listener_;
};

TEST_F(FleetBackendTest, SpreadsCallsAndForgetsThoseThatEnded) {
  start(2, fleet::Placement::kLeastLoaded);
  const auto first = backend_->generate(text("one"));
  const auto second = backend_->generate(text("two"));
  EXPECT_NE(where(first), where(second));
  engines_[where(second)]->finish(second, 3);
  EXPECT_EQ(backend_->stats(where(second)).requests, 0);
  const auto third = backend_->generate(text("three"));
  EXPECT_EQ(where(third), where(second));  // the other one is still at work
  EXPECT_EQ(backend_->stats(where(third)).requests, 1);
  EXPECT_EQ(listener_.events.size(), 1u);
}

TEST_F(FleetBackendTest, RefusedAndCancelledCallsWeighNothing) {
  start(2, fleet::Placement::kLeastLoaded);
  const auto refused = backend_->generate(text("one"));
  const auto cancelled = backend_->generate(text("two"));
  engines_[where(refused)]->say(api::Refused{refused, api::draining()});
  backend_->cancel(cancelled);
  EXPECT_THAT(engines_[where(cancelled)]->cancelled, ElementsAre(cancelled));
  for (std::size_t at = 0; at < 2; ++at) {
    EXPECT_EQ(backend_->stats(at).requests, 0);
    EXPECT_EQ(backend_->stats(at).load_ns, 0);
  }
  engines_[where(cancelled)]->finish(cancelled, 5);  // too late: it is passed on and changes nothing
  EXPECT_EQ(backend_->stats(where(cancelled)).load_ns, 0);
}

TEST_F(FleetBackendTest, RoundRobinTakesTurnsWhateverEnds) {
  start(3, fleet::Placement::kRoundRobin);
  std::vector<std::size_t> places;
  for (int at = 0; at < 6; ++at) {
    const auto call = backend_->generate(text("x"));
    places.push_back(where(call));
    engines_[where(call)]->finish(call, 1);
  }
  EXPECT_THAT(places, ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST_F(FleetBackendTest, PromptsThatBeginAlikeGoToTheSameEngine) {
  start(4, fleet::Placement::kPrefixAware);
  const std::string system(1000, 's');
  const auto first = backend_->generate(text(system + "one"));
  engines_[where(first)]->finish(first, 4);
  for (int at = 0; at < 5; ++at) {
    const auto call = backend_->generate(text(system + "again " + std::to_string(at)));
    EXPECT_EQ(where(call), where(first));
    engines_[where(call)]->finish(call, 4);
  }
}

TEST_F(FleetBackendTest, MaxMinWeighsLongRequestsMore) {
  start(2, fleet::Placement::kMaxMin);
  const auto large = backend_->generate(text(std::string(3000, 'x'), 900));
  const auto small = backend_->generate(text("x", 2));
  const auto next = backend_->generate(text("x", 2));
  EXPECT_NE(where(large), where(small));
  EXPECT_EQ(where(next), where(small));  // two small ones are less than a large one
}

TEST_F(FleetBackendTest, SumsWhatTheEnginesAre) {
  start(3, fleet::Placement::kLeastLoaded);
  EXPECT_EQ(backend_->model().max_seqs, 12);
  EXPECT_EQ(backend_->model().kv_tokens, 6000);
  EXPECT_EQ(backend_->model().max_len, 1000);
  EXPECT_EQ(backend_->model().engines, 3);
  engines_[0]->health_now = {api::Readiness::kReady, 500, 1, 2};
  engines_[1]->health_now = {api::Readiness::kReady, 300, 3, 0};
  api::Health health = backend_->health();
  EXPECT_EQ(health.running, 4);
  EXPECT_EQ(health.waiting, 2);
  EXPECT_EQ(health.last_step_age_ns, 300);
  engines_[2]->health_now = {api::Readiness::kStalled, 9000, 1, 0};
  health = backend_->health();
  EXPECT_EQ(health.readiness, api::Readiness::kStalled);
  EXPECT_EQ(health.last_step_age_ns, 9000);
  engines_[0]->health_now = {api::Readiness::kStalled, 8000, 1, 0};
  EXPECT_EQ(backend_->health().readiness, api::Readiness::kStalled);
}

TEST_F(FleetBackendTest, AListIsToldWhenEveryEngineHasAnswered) {
  start(2, fleet::Placement::kLeastLoaded);
  backend_->list_requests();
  backend_->list_requests();
  const auto status = [](const char* id, std::int64_t age_ns) {
    api::RequestStatus one;
    one.request_id = id;
    one.age_ns = age_ns;
    return std::vector<api::RequestStatus>{one};
  };
  engines_[0]->outlet().list(status("young", 1));
  engines_[0]->outlet().list({});
  EXPECT_TRUE(listener_.lists.empty());
  engines_[1]->outlet().list(status("old", 7));
  ASSERT_EQ(listener_.lists.size(), 1u);
  ASSERT_EQ(listener_.lists[0].size(), 2u);
  EXPECT_EQ(listener_.lists[0][0].request_id, "old");
  engines_[1]->outlet().list({});
  EXPECT_EQ(listener_.lists.size(), 2u);
}

TEST_F(FleetBackendTest, FramesArePutTogetherAndTheLastOfEachEngineIsShown) {
  start(2, fleet::Placement::kLeastLoaded);
  backend_->watch_live(true);
  EXPECT_TRUE(engines_[0]->watched && engines_[1]->watched);
  api::LiveFrame busy;
  busy.running = 1;
  busy.kv_used = 5;
  busy.kv_free = 5;
  busy.sequences.push_back({});
  busy.sequences.back().id = 1;
  api::LiveFrame other = busy;
  engines_[0]->outlet().show(std::move(busy));
  engines_[1]->outlet().show(std::move(other));  // within a moment: the next one will do
  engines_[1]->outlet().show({});                // the last before it falls silent
  ASSERT_EQ(listener_.frames.size(), 2u);
  const api::LiveFrame& last = listener_.frames.back();
  EXPECT_EQ(last.running, 1);
  EXPECT_EQ(last.kv_used, 5);
  ASSERT_EQ(last.engines.size(), 2u);
  EXPECT_EQ(last.engines[0].running, 1);
  ASSERT_EQ(last.sequences.size(), 1u);
  EXPECT_EQ(last.sequences[0].id, 2u);
}

TEST_F(FleetBackendTest, DrainsEveryEngine) {
  start(2, fleet::Placement::kLeastLoaded);
  backend_->drain();
  EXPECT_TRUE(engines_[0]->drained && engines_[1]->drained);
}

TEST(Beginnings, AreSharedAsFarAsPromptsAreAndNeverBetweenSalts) {
  api::Generation a;
  a.prompt = api::ChatPrompt{{{"system", std::string(700, 's'), {}}, {"user", "hello", {}}}, true, {}};
  api::Generation b = a;
  std::get<api::ChatPrompt>(b.prompt).messages[1].content = std::string(500, 'x');
  const Beginnings first = beginnings_of(a);
  const Beginnings second = beginnings_of(b);
  ASSERT_EQ(first.chain.size(), 2u);  // 700 bytes and a few: two whole blocks
  ASSERT_EQ(second.chain.size(), 4u);
  EXPECT_EQ(first.chain[1], second.chain[1]);
  EXPECT_EQ(first.bytes, 6 + 700 + 4 + 5);
  b.cache_salt = "mine";
  EXPECT_NE(first.chain[0], beginnings_of(b).chain[0]);
}

}  // namespace
}  // namespace paternoster::engine
