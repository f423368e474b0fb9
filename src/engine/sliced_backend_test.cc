// Slices over several engines of one process: whoever asks cannot tell them from one engine.
#include "engine/sliced_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <set>

#include "engine/instances.h"
#include "engine/testing/listener.h"
#include "engine/testing/models.h"

namespace paternoster::engine {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

api::Generation text(const std::string& prompt, int max_tokens) {
  api::Generation generation;
  generation.prompt = api::TextPrompt{prompt};
  generation.max_tokens = max_tokens;
  generation.sampling.temperature = 0;
  return generation;
}

// Everything that must survive a hand-over: sampling, penalties, the least and most tokens, stop strings
// over the edge of a slice, log-probabilities, several choices, the prompt's echo, characters of many bytes.
std::vector<api::Generation> many_kinds() {
  const std::string prompt = "Once upon a time there was a small dog who";
  std::vector<api::Generation> all;
  all.push_back(text(prompt, 21));
  auto& sampled = all.emplace_back(text(prompt, 19));
  sampled.sampling.temperature = 0.9;
  sampled.sampling.top_p = 0.95;
  sampled.sampling.seed = 7;
  auto& penalties = all.emplace_back(text(prompt + " barked and barked and barked", 24));
  penalties.sampling.temperature = 0.7;
  penalties.sampling.seed = 11;
  penalties.sampling.repetition_penalty = 1.3;
  penalties.sampling.presence_penalty = 0.6;
  penalties.sampling.frequency_penalty = 0.4;
  auto& choices = all.emplace_back(text(prompt, 14));
  choices.choices = 3;
  choices.sampling.temperature = 1.0;
  choices.sampling.seed = 5;
  choices.logprobs = true;
  choices.top_logprobs = 3;
  auto& echo = all.emplace_back(text(prompt, 9));
  echo.echo = true;
  echo.logprobs = true;
  echo.top_logprobs = 2;
  auto& least = all.emplace_back(text("The answer is", 18));
  least.min_tokens = 12;
  least.sampling.temperature = 1.2;
  least.sampling.seed = 3;
  auto& bytes = all.emplace_back(text("日本の首都は、東京です。韓国の首都は", 17));
  bytes.sampling.temperature = 1.1;
  bytes.sampling.seed = 2;
  bytes.ignore_eos = true;
  auto& biased = all.emplace_back(text(prompt, 16));
  biased.sampling.logit_bias = {{28, 4.0}, {30, 3.0}};
  return all;
}

std::vector<std::uint32_t> bits_of(const std::vector<api::TokenLogprobs>& logprobs) {
  std::vector<std::uint32_t> bits;
  for (const api::TokenLogprobs& one : logprobs) {
    bits.push_back(static_cast<std::uint32_t>(one.chosen.token));
    bits.push_back(std::bit_cast<std::uint32_t>(one.chosen.logprob.value_or(0)));
    for (const api::ScoredToken& top : one.top) {
      bits.push_back(static_cast<std::uint32_t>(top.token));
      bits.push_back(std::bit_cast<std::uint32_t>(top.logprob.value_or(0)));
    }
  }
  return bits;
}

void expect_same(const Listener::Heard& heard, const Listener::Heard& alone, const std::string& what) {
  EXPECT_FALSE(heard.refused.has_value()) << what;
  EXPECT_EQ(heard.text, alone.text) << what;
  EXPECT_EQ(heard.tokens, alone.tokens) << what;
  EXPECT_EQ(heard.echo, alone.echo) << what;
  EXPECT_EQ(bits_of(heard.echo_logprobs), bits_of(alone.echo_logprobs)) << what;
  ASSERT_EQ(heard.finished.size(), alone.finished.size()) << what;
  for (const auto& [choice, finished] : alone.finished) {
    EXPECT_EQ(heard.finished.at(choice).reason, finished.reason) << what;
    EXPECT_EQ(heard.finished.at(choice).stop_reason, finished.stop_reason) << what;
    EXPECT_EQ(heard.logprobs.contains(choice), alone.logprobs.contains(choice)) << what;
    if (!alone.logprobs.contains(choice)) continue;
    EXPECT_EQ(bits_of(heard.logprobs.at(choice)), bits_of(alone.logprobs.at(choice))) << what;
  }
  ASSERT_TRUE(heard.done && alone.done) << what;
  EXPECT_EQ(heard.done->usage.prompt_tokens, alone.done->usage.prompt_tokens) << what;
  EXPECT_EQ(heard.done->usage.completion_tokens, alone.done->usage.completion_tokens) << what;
  // Accepted comes first, once; Done comes last.
  EXPECT_TRUE(std::holds_alternative<api::Accepted>(heard.events.front())) << what;
  EXPECT_TRUE(std::holds_alternative<api::Done>(heard.events.back())) << what;
  const auto accepted = std::ranges::count_if(
      heard.events, [](const auto& event) { return std::holds_alternative<api::Accepted>(event); });
  EXPECT_EQ(accepted, 1) << what;
}

class SlicedBackendTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = models_for_tests::path_of("smollm2");
    if (path_.empty()) GTEST_SKIP() << "smollm2 is not in the cache: `make test` fetches it";
  }
  void TearDown() override {
    if (backend_) backend_->attach(nullptr);
  }
  EngineOptions options(const std::string& fleet, std::int32_t slice_tokens, std::int32_t instances = 2) const {
    EngineOptions options{.model = path_, .max_seqs = 8, .max_len = 512, .kv_tokens = 4096, .step_tokens = 64,
                          .max_queue = 16, .threads = 2, .check_invariants = true};
    options.instances = instances;
    options.fleet = fleet;
    options.preset = "scls";
    options.fleet_interval_ns = 1'000'000;
    options.tuning.slice_tokens = slice_tokens;
    return options;
  }
  void start(EngineOptions options) {
    if (backend_) backend_->attach(nullptr);
    auto made = create_native_backend(std::move(options));
    ASSERT_TRUE(made) << made.error().message;
    backend_ = std::move(*made);
    listener_ = std::make_unique<Listener>();
    backend_->attach(listener_.get());
  }
  // What one engine answers, each call by itself.
  const std::vector<Listener::Heard>& alone() {
    static std::vector<Listener::Heard> heard;
    if (!heard.empty()) return heard;
    EngineOptions one = options("", 128, 1);
    one.preset = "vllm";
    start(one);
    for (api::Generation& generation : many_kinds()) {
      heard.push_back(listener_->wait_for(backend_->generate(std::move(generation))));
    }
    return heard;
  }
  fleet::Stats stats() const { return dynamic_cast<SlicedBackend&>(*backend_).stats(); }

  std::filesystem::path path_;
  std::unique_ptr<api::Backend> backend_;
  std::unique_ptr<Listener> listener_;  // of backend_: call numbers begin again with each
};

TEST_F(SlicedBackendTest, AnswersAsOneEngineDoesWhateverTheFleet) {
  const auto& wanted = alone();
  for (const char* fleet : {"sls", "so", "ab", "scls", "scls_keep", "cluster"}) {
    start(options(fleet, 3));
    std::vector<api::CallId> calls;
    for (api::Generation& generation : many_kinds()) calls.push_back(backend_->generate(std::move(generation)));
    for (std::size_t at = 0; at < calls.size(); ++at) {
      expect_same(listener_->wait_for(calls[at]), wanted[at], std::string(fleet) + ", call " + std::to_string(at));
    }
    const fleet::Stats told = stats();
    EXPECT_EQ(told.requests_accepted, calls.size() + 2);  // one of them has three choices
    if (std::string(fleet) == "sls") {
      EXPECT_EQ(told.slices_sent, told.requests_accepted);
    } else {
      EXPECT_GE(told.slices_sent, 40u) << fleet;  // some 140 tokens in threes
    }
  }
}

TEST_F(SlicedBackendTest, StopStringsAreFoundOverTheEdgesOfSlices) {
  const std::string whole = alone().front().text.at(0);
  ASSERT_GT(whole.size(), 40u);
  for (const std::size_t from : {11u, 17u, 26u}) {
    const std::string stop = whole.substr(from, 9);
    api::Generation asked = text("Once upon a time there was a small dog who", 21);
    asked.stop = {stop};
    start(options("", 128, 1));
    const auto solo = listener_->wait_for(backend_->generate(asked));
    ASSERT_EQ(solo.finished.at(0).reason, api::FinishReason::kStop);
    for (const std::int32_t slice : {1, 2, 5}) {
      start(options("scls", slice));
      expect_same(listener_->wait_for(backend_->generate(asked)), solo, "stop at " + std::to_string(from));
    }
  }
}

TEST_F(SlicedBackendTest, ACallIsStoppedWithWhatItHasAndCancelledWithoutAWord) {
  start(options("scls", 4));
  const auto stopped = backend_->generate(text("Count: one, two, three,", 400));
  const auto cancelled = backend_->generate(text("Count down: ten, nine,", 400));
  listener_->wait_for_text(stopped);
  listener_->wait_for_text(cancelled);
  backend_->cancel(cancelled);
  backend_->stop(stopped);
  const auto heard = listener_->wait_for(stopped);
  ASSERT_TRUE(heard.done);
  EXPECT_EQ(heard.finished.at(0).reason, api::FinishReason::kAbort);
  EXPECT_EQ(heard.done->usage.completion_tokens, static_cast<std::int32_t>(heard.tokens.at(0).size()));
  EXPECT_LT(heard.done->usage.completion_tokens, 400);
  // Nothing is left: the next ones have all the seats.
  std::vector<api::CallId> calls;
  for (int at = 0; at < 8; ++at) calls.push_back(backend_->generate(text("Again", 6)));
  for (const auto call : calls) EXPECT_TRUE(listener_->wait_for(call).done.has_value());
  EXPECT_EQ(stats().pool, 0);
  EXPECT_EQ(stats().running, 0);
}

TEST_F(SlicedBackendTest, ATimeoutEndsACallWhereverItIs) {
  start(options("scls", 4));
  api::Generation slow = text("A very long story:", 450);
  slow.ignore_eos = true;
  slow.standing.timeout_ms = 300;
  const auto heard = listener_->wait_for(backend_->generate(slow));
  ASSERT_TRUE(heard.refused.has_value());
  EXPECT_EQ(heard.refused->code, "deadline_exceeded");
  EXPECT_EQ(stats().batches, 0);
}

TEST_F(SlicedBackendTest, WhatCannotBeServedIsRefusedAtOnce) {
  start(options("scls", 4));
  const auto too_long = listener_->wait_for(backend_->generate(text("x", 5000)));
  ASSERT_TRUE(too_long.refused.has_value());
  EXPECT_EQ(too_long.refused->code, "context_length_exceeded");
  api::Generation unknown = text("x", 5);
  unknown.stop_token_ids = {1 << 29};
  EXPECT_TRUE(listener_->wait_for(backend_->generate(unknown)).refused.has_value());
  // Seats and queue: 8 + 16 calls may wait for their first token.
  std::vector<api::CallId> calls;
  for (int at = 0; at < 60; ++at) calls.push_back(backend_->generate(text("Flood number " + std::to_string(at), 40)));
  int refused = 0;
  for (const auto call : calls) {
    const auto heard = listener_->wait_for(call);
    if (!heard.refused) continue;
    ++refused;
    EXPECT_EQ(heard.refused->code, "queue_full");
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 60 - 8);
  backend_->drain();
  EXPECT_EQ(backend_->health().readiness, api::Readiness::kDraining);
  EXPECT_EQ(listener_->wait_for(backend_->generate(text("late", 3))).refused->code, "draining");
}

TEST_F(SlicedBackendTest, DrainingFinishesEverySliceOfWhatWasAccepted) {
  start(options("scls", 2));
  const auto call = backend_->generate(text("Once upon a time", 30));
  listener_->wait_for_text(call);
  backend_->drain();
  const auto heard = listener_->wait_for(call);
  ASSERT_TRUE(heard.done.has_value());
  EXPECT_EQ(heard.finished.at(0).reason, api::FinishReason::kLength);
  EXPECT_EQ(heard.done->usage.completion_tokens, 30);
}

TEST_F(SlicedBackendTest, EveryCallIsListedWithItsReason) {
  EngineOptions few = options("scls", 40);
  few.max_seqs = 2;
  start(few);
  std::vector<api::CallId> calls;
  for (int at = 0; at < 6; ++at) {
    api::Generation one = text("Number " + std::to_string(at), 200);
    one.request_id = "r" + std::to_string(at);
    one.ignore_eos = true;
    calls.push_back(backend_->generate(std::move(one)));
  }
  listener_->wait_for_text(calls[0]);
  backend_->list_requests();
  const auto list = listener_->wait_for_list();
  ASSERT_THAT(list, SizeIs(6));
  int waiting = 0;
  for (const api::RequestStatus& one : list) {
    ASSERT_THAT(one.choices, SizeIs(1));
    const std::string state = one.choices[0].state;
    EXPECT_THAT(state, AnyOf("waiting", "prefill", "decode"));
    if (state != "waiting") continue;
    ++waiting;
    EXPECT_THAT(one.choices[0].reason, AnyOf(std::string("engine_busy"), std::string("interval")));
    EXPECT_NE(api::explain(one.choices[0].reason), std::string(one.choices[0].reason));
  }
  EXPECT_GE(waiting, 4);
  for (const auto call : calls) backend_->cancel(call);
}

TEST_F(SlicedBackendTest, FramesShowThePoolBesideTheEngines) {
  EngineOptions few = options("scls", 10);
  few.max_seqs = 2;
  start(few);
  backend_->watch_live(true);
  std::vector<api::CallId> calls;
  for (int at = 0; at < 5; ++at) {
    api::Generation one = text("Number " + std::to_string(at), 60);
    one.request_id = "r" + std::to_string(at);
    calls.push_back(backend_->generate(std::move(one)));
  }
  for (const auto call : calls) listener_->wait_for(call);
  std::set<std::string> waited, rode;
  for (const api::LiveFrame& frame : listener_->take_frames()) {
    EXPECT_THAT(frame.engines, SizeIs(2));
    for (const api::LiveSequence& row : frame.sequences) {
      (row.state == api::LiveState::kWaiting ? waited : rode).insert(row.request);
    }
  }
  EXPECT_THAT(rode, SizeIs(5));
  EXPECT_GE(waited.size(), 3u);
}

TEST_F(SlicedBackendTest, TheCardTellsHowTheFleetDecides) {
  start(options("scls_keep", 17));
  std::map<std::string, std::string> told;
  for (const auto& [name, value] : backend_->model().scheduling) told[name] = value;
  EXPECT_EQ(told["fleet"], "scls_keep");
  EXPECT_EQ(told["slice_tokens"], "17");
  EXPECT_EQ(told["between"], "keep");
  EXPECT_EQ(told["boarding"], "continuous");
}

TEST(FleetOfInstances, FollowsThePresetUnlessSaidOtherwise) {
  EngineOptions options;
  options.instances = 2;
  for (const auto& [preset, fleet] : {std::pair("scls", "scls"), {"cluster", "cluster"}, {"home", "spread"}}) {
    options.preset = preset;
    EXPECT_EQ(fleet_preset(options), fleet);
  }
  options.preset = "scls";
  EXPECT_TRUE(runs_batches(*fleet_config(options)));
  options.placement = fleet::Placement::kRoundRobin;
  EXPECT_EQ(fleet_config(options)->choices.placement, fleet::Placement::kRoundRobin);
  options.fleet = "spread";
  EXPECT_FALSE(runs_batches(*fleet_config(options)));
  options.fleet = "best";
  EXPECT_THAT(fleet_config(options).error().message, HasSubstr("scls_keep"));
}

}  // namespace
}  // namespace paternoster::engine
