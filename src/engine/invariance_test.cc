// The product's promise as one matrix: the same answer, bit for bit, whatever the company.
//
// Every case runs the same riders as the baseline, each of which ran alone, and compares tokens and
// log-probabilities as bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <thread>

#include "base/random.h"
#include "engine/drive.h"
#include "engine/testing/models.h"
#include "kernels/isa.h"
#include "scheduler/presets.h"

namespace paternoster::engine {
namespace {

struct Rider {
  std::vector<TokenId> prompt;
  SamplingParams params;
  std::int32_t max_tokens;
};

std::vector<TokenId> licence_tokens(const text::Tokenizer& tokenizer) {
  std::ifstream file("/usr/share/common-licenses/GPL-3");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  auto tokens = tokenizer.encode(text.substr(0, 24000), {});
  EXPECT_TRUE(tokens.has_value());
  return *tokens;
}

// Lengths from one token to a few blocks and more; some prompts begin alike, so that a prefix cache
// has something to share. Even riders are greedy, odd ones sample in different ways.
std::vector<Rider> make_riders(const text::Tokenizer& tokenizer, const std::vector<std::size_t>& lengths,
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

scheduler::Config config_of(std::int32_t seats, std::int32_t step_tokens) {
  scheduler::Config config;
  config.limits.max_seqs = seats;
  config.limits.step_tokens = step_tokens;
  config.limits.num_blocks = 512;
  config.limits.max_len = 2048;
  config.limits.prefix_cache = false;
  return config;
}

std::shared_ptr<RequestNumbers> numbers_of(const Rider& rider) {
  auto numbers = std::make_shared<RequestNumbers>();
  numbers->prompt = rider.prompt;
  numbers->params = rider.params;
  return numbers;
}

// What must be equal, as numbers that compare bit for bit.
using Answer = std::vector<std::uint32_t>;

Answer answer_of(const DrivenChoice& choice) {
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

TEST_P(Invariance, TogetherWithAsManySeats) { run_together(config_of(16, 512), pool_, "16 seats"); }

TEST_P(Invariance, TogetherWithHalfAsManySeats) {
  run_together(config_of(static_cast<std::int32_t>(riders_.size() / 2), 512), pool_, "half the seats");
}

TEST_P(Invariance, InAnyOrder) {
  Drive drive(model_->packed, pool_, config_of(16, 512));
  auto order = in_order();
  std::sort(order.begin(), order.end(),
            [](std::size_t a, std::size_t b) { return random_u64(5, 0, a) < random_u64(5, 0, b); });
  const auto ids = submit(drive, order);
  drive.run();
  expect_equal(drive, ids, "shuffled");
}

TEST_P(Invariance, WithEveryChunkSize) {
  for (const std::int32_t tokens : {1, 7, 32, 512}) {
    if (small() && tokens == 1) continue;  // a thousand steps of a model with a large vocabulary
    run_together(config_of(std::min(tokens, 4), tokens), pool_, "step of " + std::to_string(tokens));
  }
}

TEST_P(Invariance, WithColdAndWarmPrefixCache) {
  scheduler::Config config = config_of(6, 64);
  config.limits.prefix_cache = true;
  Drive drive(model_->packed, pool_, config);
  const auto cold = submit(drive, in_order());
  drive.run();
  expect_equal(drive, cold, "cold cache");
  const auto warm = submit(drive, in_order());
  drive.run();
  expect_equal(drive, warm, "warm cache");
  EXPECT_GT(drive.scheduler().stats().prefix_hits, 100u);
}

// Takes seats at random steps until everyone is done.
void preempt_at_random(Drive& drive) {
  DrivenStep step;
  std::vector<SequenceId> running;
  std::uint64_t count = 0;
  while (drive.step(step)) {
    drive.scheduler().list_running(running);
    if (random_u64(99, 1, ++count) % 4 != 0 || running.empty()) continue;
    drive.scheduler().force_preempt(0, running[random_u64(99, 2, count) % running.size()]);
  }
}

TEST_P(Invariance, PreemptedAtRandomSteps) {
  Drive drive(model_->packed, pool_, config_of(6, 48));
  const auto ids = submit(drive, in_order());
  preempt_at_random(drive);
  expect_equal(drive, ids, "forced preemption");
  EXPECT_GT(drive.scheduler().stats().tokens_recomputed, 0u);
}

TEST_P(Invariance, PreemptedBecauseBlocksRunShort) {
  scheduler::Config config = config_of(8, 64);
  config.limits.max_len = small() ? 544 : 256;
  config.limits.num_blocks = config.limits.max_len / 16;
  run_together(config, pool_, "few blocks");
}

TEST_P(Invariance, SwappedOutAtRandomSteps) {
  scheduler::Config config = config_of(6, 48);
  config.choices.relief = scheduler::Relief::kSwap;
  config.limits.swap_blocks = 64;
  Drive drive(model_->packed, pool_, config);
  const auto ids = submit(drive, in_order());
  preempt_at_random(drive);
  expect_equal(drive, ids, "swapped out and in");
  EXPECT_GT(drive.scheduler().stats().blocks_swapped_in, 10u);
}

TEST_P(Invariance, SwappedOutToAFileAtRandomSteps) {
  scheduler::Config config = config_of(6, 48);
  config.choices.relief = scheduler::Relief::kSwap;
  config.limits.swap_blocks = 64;
  const auto path = std::filesystem::temp_directory_path() / (std::string("paternoster_swap_of_") + GetParam());
  auto file = SwapFile::create(
      path, 64, KvCache::block_bytes(model_->packed.layers().size(), model_->packed.kv_shape(kernels::KvType::kF16)));
  ASSERT_TRUE(file.has_value()) << file.error().message;
  Drive drive(model_->packed, pool_, config, kernels::KvType::kF16, std::move(*file));
  const auto ids = submit(drive, in_order());
  preempt_at_random(drive);
  expect_equal(drive, ids, "swapped out to a file and in");
  EXPECT_GT(drive.scheduler().stats().blocks_swapped_in, 10u);
}

// A hand-over as slice_loop.h makes it: what was said is told to an engine that has never seen the rider.
TEST_P(Invariance, InSlicesThatMoveBetweenEngines) {
  std::vector<std::unique_ptr<Drive>> engines;
  for (int at = 0; at < 2; ++at) {
    scheduler::Config config = config_of(4, 96);
    config.limits.prefix_cache = true;
    engines.push_back(std::make_unique<Drive>(model_->packed, pool_, config));
  }
  std::vector<Answer> answers(riders_.size());
  std::vector<std::shared_ptr<RequestNumbers>> numbers;
  for (const Rider& rider : riders_) numbers.push_back(numbers_of(rider));
  for (std::int32_t from = 0, round = 0; from < 8; from += 3, ++round) {
    std::vector<std::pair<Drive*, std::uint64_t>> sent(riders_.size());
    for (std::size_t i = 0; i < riders_.size(); ++i) {
      const std::int32_t rest = riders_[i].max_tokens - from;
      if (rest <= 0) continue;
      Drive& engine = *engines[(i + static_cast<std::size_t>(round)) % 2];
      sent[i] = {&engine, engine.submit(numbers[i], std::min(rest, 3))};
    }
    for (const auto& engine : engines) engine->run();
    for (std::size_t i = 0; i < riders_.size(); ++i) {
      if (sent[i].first == nullptr) continue;
      const DrivenChoice& choice = sent[i].first->choices(sent[i].second)[0];
      const Answer slice = answer_of(choice);
      answers[i].insert(answers[i].end(), slice.begin(), slice.end());
      numbers[i] = std::make_shared<RequestNumbers>(*numbers[i]);
      for (const Drawn& drawn : choice.drawn) numbers[i]->said.push_back(drawn.token);
    }
  }
  for (std::size_t i = 0; i < riders_.size(); ++i) EXPECT_EQ(answers[i], baseline()[i]) << "slices, rider " << i;
}

TEST_P(Invariance, InSlicesThatDropOrKeep) {
  for (const auto boarding : {scheduler::Boarding::kSliced, scheduler::Boarding::kSlicedKeep}) {
    scheduler::Config config = config_of(4, 128);
    config.choices.boarding = boarding;
    config.limits.prefix_cache = true;
    config.tuning.slice_tokens = 3;
    run_together(config, pool_, scheduler::to_string(boarding));
  }
}

TEST_P(Invariance, WithOneThread) {
  ThreadPool one(1);
  run_together(config_of(16, 128), one, "one thread");
}

TEST_P(Invariance, OverTwoEnginesAtOnce) {
  std::vector<std::unique_ptr<ThreadPool>> pools;
  std::vector<std::unique_ptr<Drive>> engines;
  for (int at = 0; at < 2; ++at) {
    pools.push_back(std::make_unique<ThreadPool>(1));
    engines.push_back(std::make_unique<Drive>(model_->packed, *pools.back(), config_of(4, 96)));
  }
  std::vector<std::uint64_t> ids(riders_.size());
  for (std::size_t i = 0; i < riders_.size(); ++i) {
    ids[i] = engines[i % 2]->submit(numbers_of(riders_[i]), riders_[i].max_tokens);
  }
  std::thread other([&] { engines[1]->run(); });
  engines[0]->run();
  other.join();
  for (std::size_t i = 0; i < riders_.size(); ++i) {
    EXPECT_EQ(answer_of(engines[i % 2]->choices(ids[i])[0]), baseline()[i]) << "two engines, rider " << i;
  }
}

TEST_P(Invariance, WithEveryPreset) {
  for (const scheduler::Preset& preset : scheduler::presets()) {
    scheduler::Config config = config_of(4, 128);
    config.choices = preset.choices;
    run_together(config, pool_, std::string(preset.name));
  }
}

TEST_P(Invariance, TheFirstOfSeveralChoicesIsTheOnlyOne) {
  Drive drive(model_->packed, pool_, config_of(8, 64));
  const std::size_t rider = 1;
  const auto id = drive.submit(numbers_of(riders_[rider]), riders_[rider].max_tokens, 3);
  drive.run();
  EXPECT_EQ(answer_of(drive.choices(id)[0]), baseline()[rider]);
  EXPECT_NE(answer_of(drive.choices(id)[1]), baseline()[rider]);
}

// Guesses that cost nothing, so that as many are made as can be.
scheduler::Config guessing(scheduler::Config config) {
  config.choices.speculation = scheduler::Speculation::kNgram;
  config.tuning.draft_seqs = 16;
  config.cost.token_ps = 1;
  config.cost.context_ps = config.cost.chunk_context_ps = 0;
  return config;
}

TEST_P(Invariance, WithGuesses) {
  for (const std::int32_t tokens : {16, 512}) {
    run_together(guessing(config_of(16, tokens)), pool_, "guesses, step of " + std::to_string(tokens));
  }
}

TEST_P(Invariance, WithGuessesPreemptedAtRandomSteps) {
  for (const auto relief : {scheduler::Relief::kRecompute, scheduler::Relief::kSwap}) {
    scheduler::Config config = guessing(config_of(6, 48));
    config.choices.relief = relief;
    config.limits.swap_blocks = 64;
    config.limits.prefix_cache = true;
    Drive drive(model_->packed, pool_, config);
    const auto ids = submit(drive, in_order());
    preempt_at_random(drive);
    expect_equal(drive, ids, std::string("guesses, ") + scheduler::to_string(relief));
  }
}

// Texts that say the same several times, so that many guesses come true: greedy, seeded, with penalties,
// bias and an end that must not come too early.
TEST_P(Invariance, WithGuessesThatComeTrue) {
  const std::vector<TokenId> text = licence_tokens(model_->tokenizer);
  riders_.clear();
  for (std::size_t i = 0; i < 6; ++i) {
    Rider rider;
    for (int time = 0; time < 3; ++time) {
      const auto from = text.begin() + static_cast<std::ptrdiff_t>(300 * i);
      rider.prompt.insert(rider.prompt.end(), from, from + (time < 2 ? 40 : 12));
    }
    rider.max_tokens = small() ? 12 : 24;
    rider.params.logprobs = true;
    rider.params.top_logprobs = 2;
    rider.params.seed = 50 + i;
    rider.params.temperature = i % 2 == 0 ? 0.0f : 0.4f;
    if (i == 2) rider.params.frequency_penalty = 0.2f;
    if (i == 3) rider.params.repetition_penalty = 1.05f;
    if (i == 4) rider.params.logit_bias = {{text[0], 2.0f}};
    if (i == 5) {
      rider.params.min_tokens = 4;
      rider.params.ends = {text[1500 + 20], text[1500 + 25]};
    }
    riders_.push_back(std::move(rider));
  }
  std::vector<std::vector<Answer>> alone;  // by rider and choice
  for (const Rider& rider : riders_) {
    Drive drive(model_->packed, pool_, config_of(2, 512));
    const auto id = drive.submit(numbers_of(rider), rider.max_tokens, 2);
    drive.run();
    alone.push_back({answer_of(drive.choices(id)[0]), answer_of(drive.choices(id)[1])});
  }
  Drive drive(model_->packed, pool_, guessing(config_of(16, 64)));
  std::vector<std::uint64_t> ids;
  for (const Rider& rider : riders_) ids.push_back(drive.submit(numbers_of(rider), rider.max_tokens, 2));
  drive.run();
  for (std::size_t i = 0; i < riders_.size(); ++i) {
    for (std::size_t choice = 0; choice < 2; ++choice) {
      EXPECT_EQ(answer_of(drive.choices(ids[i])[choice]), alone[i][choice]) << "rider " << i << ", choice " << choice;
    }
  }
  const scheduler::Stats stats = drive.scheduler().stats();
  EXPECT_GT(stats.tokens_accepted, 20u);
  EXPECT_GT(stats.tokens_drafted, stats.tokens_accepted);  // and some do not
}

TEST_P(Invariance, OnEveryInstructionSet) {
  const kernels::Isa before = kernels::active_isa();
  riders_.resize(3);  // the scalar kernels are slow
  for (const kernels::Isa isa : {kernels::Isa::kScalar, kernels::Isa::kAvx2, kernels::Isa::kAvxVnni,
                                 kernels::Isa::kAvx512Vnni}) {
    if (!kernels::is_available(isa) || isa == before) continue;
    kernels::use_isa(isa);
    run_together(config_of(3, 64), pool_, kernels::isa_name(isa));
  }
  kernels::use_isa(before);
}

INSTANTIATE_TEST_SUITE_P(Models, Invariance, testing::Values("smollm2", "gemma3-270m"),
                         [](const auto& instance) {
                           return instance.param == std::string("smollm2") ? "SmolLM2" : "Gemma3";
                         });

}  // namespace
}  // namespace paternoster::engine
