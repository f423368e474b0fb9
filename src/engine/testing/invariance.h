// For this layer's tests alone: riders of mixed length, what each of them says when it rides alone, and ways to
// let them ride together. Every case compares tokens and log-probabilities as bits.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/drive.h"
#include "engine/testing/models.h"

namespace paternoster::engine {

struct Rider {
  std::vector<TokenId> prompt;
  SamplingParams params;
  std::int32_t max_tokens;
};

inline std::vector<TokenId> licence_tokens(const text::Tokenizer& tokenizer) {
  std::ifstream file("/usr/share/common-licenses/GPL-3");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  auto tokens = tokenizer.encode(text.substr(0, 24000), {});
  EXPECT_TRUE(tokens.has_value());
  return *tokens;
}

// Lengths from one token to a few blocks and more; some prompts begin alike, so that a prefix cache
// has something to share. Even riders are greedy, odd ones sample in different ways.
inline std::vector<Rider> make_riders(const text::Tokenizer& tokenizer, const std::vector<std::size_t>& lengths,
                                      std::int32_t max_tokens) {
  const std::vector<TokenId> text = licence_tokens(tokenizer);
  std::vector<Rider> riders;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    Rider rider;
    const std::size_t from = i % 3 == 0 ? 0 : 200 * i;
    rider.prompt.assign(text.begin() + static_cast<std::ptrdiff_t>(from),
                        text.begin() + static_cast<std::ptrdiff_t>(from + lengths[i]));
    rider.params.logprobs = true;
    rider.params.top_logprobs = 2;
    rider.params.seed = 1000 + i;
    rider.params.temperature = i % 2 == 0 ? 0.0f : 0.9f;
    if (i % 4 == 1) rider.params.top_p = 0.95f;
    if (i % 8 == 3) rider.params.top_k = 40;
    if (i % 8 == 7) rider.params.min_p = 0.02f;
    if (i % 8 == 5) rider.params.frequency_penalty = 0.5f;
    if (i % 8 == 6) rider.params.repetition_penalty = 1.2f;
    rider.max_tokens = max_tokens - static_cast<std::int32_t>(i % 3);
    riders.push_back(std::move(rider));
  }
  return riders;
}

inline scheduler::Config config_of(std::int32_t seats, std::int32_t step_tokens) {
  scheduler::Config config;
  config.limits.max_seqs = seats;
  config.limits.step_tokens = step_tokens;
  config.limits.num_blocks = 512;
  config.limits.max_len = 2048;
  config.limits.prefix_cache = false;
  return config;
}

inline std::shared_ptr<RequestNumbers> numbers_of(const Rider& rider) {
  auto numbers = std::make_shared<RequestNumbers>();
  numbers->prompt = rider.prompt;
  numbers->params = rider.params;
  return numbers;
}

// What must be equal, as numbers that compare bit for bit.
using Answer = std::vector<std::uint32_t>;

inline Answer answer_of(const DrivenChoice& choice) {
  Answer answer;
  for (const Drawn& drawn : choice.drawn) {
    answer.push_back(static_cast<std::uint32_t>(drawn.token));
    answer.push_back(std::bit_cast<std::uint32_t>(drawn.chosen.logprob));
    for (const Logprob& top : drawn.top) {
      answer.push_back(static_cast<std::uint32_t>(top.token));
      answer.push_back(std::bit_cast<std::uint32_t>(top.logprob));
    }
  }
  return answer;
}

class Invariance : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    PATERNOSTER_NEEDS_MODEL(model, GetParam());
    model_ = model;
    const bool small = std::string(GetParam()) != "smollm2";
    // Gemma's window is 512 positions: one prompt crosses it.
    riders_ = small ? make_riders(model->tokenizer, {3, 40, 17, 530}, 6)
                    : make_riders(model->tokenizer,
                                  {1, 5, 16, 17, 33, 64, 70, 2, 48, 100, 31, 15, 140, 8, 50, 80}, 8);
    if (!baseline().empty()) return;
    for (const Rider& rider : riders_) {
      Drive drive(model_->packed, pool_, config_of(1, 512));
      const auto id = drive.submit(numbers_of(rider), rider.max_tokens);
      drive.run();
      baseline().push_back(answer_of(drive.choices(id)[0]));
    }
  }

  // Of this model; computed once a process.
  std::vector<Answer>& baseline() {
    static std::map<std::string, std::vector<Answer>> alone;
    return alone[GetParam()];
  }
  bool small() const { return std::string(GetParam()) != "smollm2"; }

  std::vector<std::size_t> in_order() const {
    std::vector<std::size_t> order(riders_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    return order;
  }

  std::vector<std::uint64_t> submit(Drive& drive, const std::vector<std::size_t>& order) {
    std::vector<std::uint64_t> ids(riders_.size());
    for (const std::size_t i : order) ids[i] = drive.submit(numbers_of(riders_[i]), riders_[i].max_tokens);
    return ids;
  }

  void expect_equal(const Drive& drive, const std::vector<std::uint64_t>& ids, const std::string& what) {
    for (std::size_t i = 0; i < riders_.size(); ++i) {
      EXPECT_EQ(answer_of(drive.choices(ids[i])[0]), baseline()[i]) << what << ", rider " << i;
    }
  }

  void run_together(const scheduler::Config& config, ThreadPool& pool, const std::string& what) {
    Drive drive(model_->packed, pool, config);
    const auto ids = submit(drive, in_order());
    drive.run();
    expect_equal(drive, ids, what);
  }

  const LoadedModel* model_ = nullptr;
  std::vector<Rider> riders_;
  ThreadPool& pool_ = models_for_tests::pool();
};

// Takes seats at random steps until everyone is done.
inline void preempt_at_random(Drive& drive) {
  DrivenStep step;
  std::vector<SequenceId> running;
  std::uint64_t count = 0;
  while (drive.step(step)) {
    drive.scheduler().list_running(running);
    if (random_u64(99, 1, ++count) % 4 != 0 || running.empty()) continue;
    drive.scheduler().force_preempt(0, running[random_u64(99, 2, count) % running.size()]);
  }
}

}  // namespace paternoster::engine
