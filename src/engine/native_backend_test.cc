#include "engine/native_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>

#include "engine/testing/listener.h"
#include "engine/testing/models.h"
#include "scheduler/journal.h"

namespace paternoster::engine {
namespace {

class NativeBackendTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto path = models_for_tests::path_of("smollm2");
    if (path.empty()) GTEST_SKIP() << "smollm2 is not in the cache: `make test` fetches it";
    start({.model = path, .max_seqs = 4, .max_len = 512, .kv_tokens = 2048, .step_tokens = 64,
           .max_queue = 4, .threads = 2, .check_invariants = true});
  }
  void start(EngineOptions options) {
    if (backend_) backend_->attach(nullptr);
    auto made = create_native_backend(std::move(options));
    ASSERT_TRUE(made) << made.error().message;
    backend_ = std::move(*made);
    backend_->attach(&listener_);
  }
  void TearDown() override {
    if (backend_) backend_->attach(nullptr);
  }

  static api::Generation text(const std::string& prompt, int max_tokens) {
    api::Generation generation;
    generation.prompt = api::TextPrompt{prompt};
    generation.max_tokens = max_tokens;
    generation.sampling.temperature = 0;
    return generation;
  }
  static api::Generation chat(const std::string& words) {
    api::Generation generation;
    generation.prompt = api::ChatPrompt{{{"user", words, {}}}, true, {}};
    generation.max_tokens = 48;
    generation.sampling.temperature = 0;
    return generation;
  }
  Listener::Heard ask(api::Generation generation) {
    return listener_.wait_for(backend_->generate(std::move(generation)));
  }

  Listener listener_;
  std::unique_ptr<api::Backend> backend_;
};

// Right guesses come several in a delta. What is said, how likely it was and what it counts stays the same, also
// where the answer ends in the middle of them.
TEST_F(NativeBackendTest, GuessesChangeNothingButTheSizeOfDeltas) {
  std::string copied;
  for (int time = 0; time < 6; ++time) copied += "one two three four five six seven eight nine ten\n";
  const auto requests = [&] {
    std::vector<api::Generation> list(3, text(copied, 50));
    list[0].logprobs = true;
    list[0].top_logprobs = 2;
    list[1].stop = {"five six"};
    list[2].choices = 2;
    list[2].sampling.temperature = 0.5;
    list[2].sampling.seed = 3;
    list[2].sampling.frequency_penalty = 0.1;
    return list;
  };
  const auto play = [&](const char* speculation) {
    Listener listener;
    EngineOptions options{.model = models_for_tests::path_of("smollm2"), .max_seqs = 4, .max_len = 512,
                          .kv_tokens = 2048, .step_tokens = 64, .threads = 2, .check_invariants = true};
    options.choices.speculation = speculation;
    auto made = create_native_backend(std::move(options));
    EXPECT_TRUE(made);
    (*made)->attach(&listener);
    std::vector<Listener::Heard> heard;
    for (api::Generation& generation : requests()) {
      heard.push_back(listener.wait_for((*made)->generate(std::move(generation))));
    }
    (*made)->attach(nullptr);
    return heard;
  };
  const auto plain = play("off"), guessed = play("ngram");
  std::size_t largest = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(guessed[i].text, plain[i].text);
    EXPECT_EQ(guessed[i].tokens, plain[i].tokens);
    EXPECT_EQ(guessed[i].done->usage.completion_tokens, plain[i].done->usage.completion_tokens);
    EXPECT_EQ(guessed[i].finished.at(0).reason, plain[i].finished.at(0).reason);
    for (const api::BackendEvent& event : guessed[i].events) {
      if (const auto* delta = std::get_if<api::Delta>(&event)) largest = std::max(largest, delta->token_ids.size());
    }
  }
  ASSERT_EQ(guessed[0].logprobs.at(0).size(), plain[0].logprobs.at(0).size());
  for (std::size_t at = 0; at < plain[0].logprobs.at(0).size(); ++at) {
    EXPECT_EQ(guessed[0].logprobs.at(0)[at].chosen.logprob, plain[0].logprobs.at(0)[at].chosen.logprob);
  }
  EXPECT_GT(largest, 2u);
}

TEST_F(NativeBackendTest, AnswersAChatInSense) {
  const auto heard = ask(chat("What is the capital of France? Answer in one sentence."));
  EXPECT_THAT(heard.text.at(0), testing::HasSubstr("Paris"));
  EXPECT_EQ(heard.finished.at(0).reason, api::FinishReason::kStop);
  EXPECT_EQ(heard.done->usage.completion_tokens, static_cast<int>(heard.tokens.at(0).size()));
  EXPECT_TRUE(std::holds_alternative<api::Accepted>(heard.events.front()));
}

TEST_F(NativeBackendTest, StopStringsEndTheTextBeforeThem) {
  const auto whole = ask(text("Count: one two three", 24));
  const std::string stop = whole.text.at(0).substr(8, 5);
  auto generation = text("Count: one two three", 24);
  generation.stop = {stop};
  const auto stopped = ask(std::move(generation));
  EXPECT_EQ(stopped.text.at(0), whole.text.at(0).substr(0, whole.text.at(0).find(stop)));
  EXPECT_EQ(stopped.finished.at(0).reason, api::FinishReason::kStop);
  EXPECT_EQ(std::get<std::string>(stopped.finished.at(0).stop_reason), stop);
}

TEST_F(NativeBackendTest, ChoicesOfASeedDifferAndRepeat) {
  const auto sample = [&] {
    auto generation = text("Once upon a time", 12);
    generation.sampling.temperature = 1.0;
    generation.sampling.seed = 11;
    generation.choices = 3;
    return ask(std::move(generation));
  };
  const auto first = sample();
  EXPECT_EQ(first.tokens.size(), 3u);
  EXPECT_NE(first.tokens.at(0), first.tokens.at(1));
  EXPECT_EQ(first.tokens, sample().tokens);
}

TEST_F(NativeBackendTest, EchoComesWithTheLogprobsOfThePrompt) {
  auto generation = text("The sky is blue", 4);
  generation.echo = true;
  generation.logprobs = true;
  generation.top_logprobs = 2;
  const auto heard = ask(std::move(generation));
  EXPECT_EQ(heard.echo, "The sky is blue");
  ASSERT_EQ(heard.echo_logprobs.size(), 4u);
  EXPECT_FALSE(heard.echo_logprobs[0].chosen.logprob.has_value());
  for (std::size_t i = 1; i < 4; ++i) EXPECT_LT(*heard.echo_logprobs[i].chosen.logprob, 0.0f);
  ASSERT_EQ(heard.logprobs.at(0).size(), 4u);
  EXPECT_EQ(heard.logprobs.at(0)[0].top.size(), 2u);
  EXPECT_EQ(heard.logprobs.at(0)[0].top[0].token, heard.logprobs.at(0)[0].chosen.token);
}

TEST_F(NativeBackendTest, MinTokensAndIgnoreEosKeepItTalking) {
  auto generation = chat("Say yes.");
  generation.max_tokens = 40;
  generation.ignore_eos = true;
  const auto heard = ask(std::move(generation));
  EXPECT_EQ(heard.done->usage.completion_tokens, 40);
  EXPECT_EQ(heard.finished.at(0).reason, api::FinishReason::kLength);
  auto least = chat("Say yes.");
  least.min_tokens = 30;
  EXPECT_GE(ask(std::move(least)).done->usage.completion_tokens, 30);
}

TEST_F(NativeBackendTest, WhatCannotBeServedIsRefusedAtOnce) {
  auto too_long = text("word", 600);
  EXPECT_EQ(ask(std::move(too_long)).refused->code, "context_length_exceeded");
  EXPECT_EQ(ask(text("", 4)).refused->status, 400);
  api::Generation outside;
  outside.prompt = api::TokenPrompt{{1, 1'000'000}};
  EXPECT_EQ(ask(std::move(outside)).refused->status, 400);
}

TEST_F(NativeBackendTest, AFullQueueSaysWhenToComeBack) {
  std::vector<api::CallId> calls;
  for (int i = 0; i < 40; ++i) {
    auto generation = text("Tell me a long story about number " + std::to_string(i), 40);
    generation.ignore_eos = true;
    calls.push_back(backend_->generate(std::move(generation)));
  }
  int refused = 0;
  for (const api::CallId call : calls) {
    const auto heard = listener_.wait_for(call);
    if (!heard.refused) continue;
    ++refused;
    EXPECT_EQ(heard.refused->status, 503);
    EXPECT_GT(heard.refused->retry_after_ms, 0);
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 40);
}

TEST_F(NativeBackendTest, ACancelledCallFreesItsSeat) {
  auto generation = text("Tell me a very long story", 400);
  generation.ignore_eos = true;
  const api::CallId call = backend_->generate(std::move(generation));
  listener_.wait_for_text(call);
  EXPECT_EQ(backend_->health().running, 1);
  backend_->cancel(call);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (backend_->health().running > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(backend_->health().running, 0);
}

TEST_F(NativeBackendTest, AStoppedCallEndsWithWhatItHas) {
  api::Generation generation = text("Once upon a time", 400);
  generation.ignore_eos = true;
  generation.choices = 2;
  const api::CallId call = backend_->generate(std::move(generation));
  listener_.wait_for_text(call);
  backend_->stop(call);
  const auto heard = listener_.wait_for(call);
  ASSERT_TRUE(heard.done);
  EXPECT_EQ(heard.finished.at(0).reason, api::FinishReason::kAbort);
  EXPECT_EQ(heard.finished.at(1).reason, api::FinishReason::kAbort);
  EXPECT_GT(heard.done->usage.completion_tokens, 0);
  backend_->stop(call);  // it is over: nothing happens
  EXPECT_TRUE(ask(text("And then", 2)).done);
}

TEST_F(NativeBackendTest, ACallWhoseTimeIsOverIsRefused) {
  api::Generation generation = text("Once upon a time", 400);
  generation.ignore_eos = true;
  generation.standing.timeout_ms = 1;
  const auto heard = ask(std::move(generation));
  ASSERT_TRUE(heard.refused);
  EXPECT_EQ(heard.refused->status, 408);
  EXPECT_EQ(heard.refused->code, "deadline_exceeded");
  EXPECT_FALSE(heard.done);
}

TEST_F(NativeBackendTest, TheListTellsStandingAndState) {
  EXPECT_TRUE((backend_->list_requests(), listener_.wait_for_list()).empty());
  api::Generation generation = text("Once upon a time", 400);
  generation.ignore_eos = true;
  generation.request_id = "mine";
  generation.standing.tenant = "alice";
  generation.standing.priority = -2;
  const api::CallId call = backend_->generate(std::move(generation));
  listener_.wait_for_text(call);
  backend_->list_requests();
  const auto list = listener_.wait_for_list();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].request_id, "mine");
  EXPECT_EQ(list[0].standing.tenant, "alice");
  EXPECT_EQ(list[0].standing.priority, -2);
  EXPECT_FALSE(list[0].ahead);
  ASSERT_EQ(list[0].choices.size(), 1u);
  EXPECT_STREQ(list[0].choices[0].state, "decode");
  EXPECT_GT(list[0].choices[0].output, 0);
  backend_->cancel(call);
}

TEST_F(NativeBackendTest, PrefixesOfTwoOwnersStayApart) {
  const auto cached = [&](const char* owner, const char* salt = "") {
    api::Generation generation = text("", 2);
    generation.prompt = api::TokenPrompt{std::vector<TokenId>(48, 300)};
    generation.standing.owner = owner;
    generation.cache_salt = salt;
    return ask(std::move(generation)).done->usage.cached_tokens;
  };
  EXPECT_EQ(cached("alice"), 0);
  EXPECT_GT(cached("alice"), 0);
  EXPECT_EQ(cached("bob"), 0);
  EXPECT_EQ(cached("alice", "salt"), 0);
  EXPECT_GT(cached("alice", "salt"), 0);
}

TEST_F(NativeBackendTest, DrainFinishesWhatRunsAndRefusesWhatComes) {
  auto generation = text("Tell me a story", 30);
  generation.ignore_eos = true;
  const api::CallId running = backend_->generate(std::move(generation));
  listener_.wait_for_text(running);
  backend_->drain();
  EXPECT_EQ(backend_->health().readiness, api::Readiness::kDraining);
  EXPECT_EQ(ask(text("more", 2)).refused->status, 503);
  EXPECT_EQ(listener_.wait_for(running).done->usage.completion_tokens, 30);
}

TEST_F(NativeBackendTest, FramesShowWhoRidesAndThenEmptySeats) {
  backend_->watch_live(true);
  auto generation = text("Tell me a story", 30);
  generation.ignore_eos = true;
  generation.request_id = "mine";
  ask(std::move(generation));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto frames = listener_.take_frames();
  ASSERT_FALSE(frames.empty());
  EXPECT_TRUE(std::any_of(frames.begin(), frames.end(), [](const api::LiveFrame& frame) {
    return frame.sequences.size() == 1 && frame.sequences[0].request == "mine";
  }));
  EXPECT_EQ(frames.back().running, 0);
  EXPECT_TRUE(frames.back().sequences.empty());
}

TEST_F(NativeBackendTest, TheJournalReplaysToEqualPlans) {
  const auto journal = std::filesystem::temp_directory_path() / ("paternoster-journal-" + std::to_string(getpid()));
  start({.model = models_for_tests::path_of("smollm2"), .max_seqs = 3, .max_len = 256, .kv_tokens = 256,
         .step_tokens = 16, .threads = 2, .journal = journal, .check_invariants = true});
  std::vector<api::CallId> calls;
  for (int i = 0; i < 6; ++i) calls.push_back(backend_->generate(text("Number " + std::to_string(i), 40)));
  backend_->cancel(calls[2]);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (i != 2) listener_.wait_for(calls[i]);
  }
  backend_->attach(nullptr);
  backend_.reset();
  std::ifstream file(journal, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(journal);
  const auto replayed = scheduler::replay(
      {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_GE(replayed->requests, 5u);
  EXPECT_GT(replayed->plans, 20u);
  EXPECT_FALSE(replayed->first_difference.has_value());
}

TEST(NativeBackendGemma, WithoutATemplateOnlyCompletionsAreOpen) {
  const auto path = models_for_tests::path_of("gemma3-270m");
  if (path.empty()) GTEST_SKIP() << "gemma3-270m is not in the cache: `make test` fetches it";
  auto backend = create_native_backend({.model = path, .max_seqs = 2, .max_len = 256, .threads = 2});
  ASSERT_TRUE(backend) << backend.error().message;
  Listener listener;
  (*backend)->attach(&listener);
  api::Generation chat;
  chat.prompt = api::ChatPrompt{{{"user", "Hello", {}}}, true, {}};
  const auto refused = listener.wait_for((*backend)->generate(std::move(chat)));
  EXPECT_EQ(refused.refused->status, 400);
  api::Generation completion;
  completion.prompt = api::TextPrompt{"The capital of France is"};
  completion.max_tokens = 8;
  completion.sampling.temperature = 0;
  const auto heard = listener.wait_for((*backend)->generate(std::move(completion)));
  EXPECT_THAT(heard.text.at(0), testing::HasSubstr("France"));
  (*backend)->attach(nullptr);
}

}  // namespace
}  // namespace paternoster::engine
