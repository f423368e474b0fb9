// Speculation told in small stories: a parrot that says what stands at each position, so that guesses come
// true or not as the story wants. (That guesses never change an answer is held against the paper model by
// the property tests and the small worlds, where half of all lives guess.)
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/random.h"
#include "scheduler/check.h"
#include "scheduler/presets.h"
#include "scheduler/scheduler.h"
#include "scheduler/speculation/ngram_index.h"

namespace paternoster::scheduler {
namespace {

using speculation::NgramIndex;

TEST(NgramIndex, FindsWhatFollowedTheLongestAgreementAndTheNewestAmongEquals) {
  NgramIndex index;
  index.reserve(64);
  const auto find = [&](const std::vector<TokenId>& text) {
    index.clear();
    index.reserve(64);
    return index.find(static_cast<std::int32_t>(text.size()), [&](std::int32_t at) { return text[at]; });
  };
  EXPECT_EQ(find({}), NgramIndex::kNowhere);
  EXPECT_EQ(find({1, 2}), NgramIndex::kNowhere);
  EXPECT_EQ(find({1, 2, 3, 4, 2}), NgramIndex::kNowhere);     // one token alone is no agreement
  EXPECT_EQ(find({1, 2, 3, 9, 1, 2}), 2);
  EXPECT_EQ(find({1, 2, 3, 1, 2, 4, 1, 2}), 5);               // the newest
  EXPECT_EQ(find({7, 1, 2, 3, 8, 1, 2, 4, 7, 1, 2}), 3);      // the longest
  EXPECT_EQ(find({5, 5, 5}), 2);                              // overlaps itself
}

TEST(NgramIndex, FindsTheSameHoweverOftenItIsAsked) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<TokenId> text;
    for (std::uint64_t at = 0; at < 60; ++at) text.push_back(static_cast<TokenId>(random_u64(seed, 1, at) % 3));
    const auto token_at = [&](std::int32_t at) { return text[static_cast<std::size_t>(at)]; };
    NgramIndex often;
    often.reserve(60);
    for (std::int32_t known = 1; known <= 60; ++known) {
      NgramIndex once;
      once.reserve(60);
      const std::int32_t found = often.find(known, token_at);
      ASSERT_EQ(found, once.find(known, token_at)) << seed;
      if (found == NgramIndex::kNowhere) continue;
      ASSERT_LT(found, known);
      ASSERT_EQ(token_at(found - 1), token_at(known - 1));
      ASSERT_EQ(token_at(found - 2), token_at(known - 2));
    }
  }
}

// Says at every position what `text` says there.
class Parrot {
 public:
  Parrot(const Config& config, std::function<TokenId(std::int32_t)> text)
      : scheduler(*Scheduler::create(config)), text_(std::move(text)) {}

  void submit(std::int32_t prompt, std::int32_t max_tokens) {
    Request request{.id = {++requests_}, .max_tokens = max_tokens};
    for (std::int32_t at = 0; at < prompt; ++at) request.prompt.push_back(text_(at));
    prompt_ = prompt;
    hear(scheduler.submit(++now_ns_, std::move(request)));
  }

  const Plan& step() {
    now_ns_ = std::max(now_ns_, scheduler.last_plan().again_ns);
    const Plan& plan = scheduler.plan(++now_ns_);
    look();
    result_.outcomes.clear();
    for (const RunEntry& entry : plan.run) {
      if (entry.samples) draw(plan, entry);
    }
    hear(scheduler.commit(++now_ns_, result_));
    return plan;
  }

  int run() {
    int steps = 0;
    for (; !scheduler.idle() && steps < 10000; ++steps) step();
    EXPECT_TRUE(scheduler.idle());
    EXPECT_EQ(scheduler.stats().blocks_used, 0);
    return steps;
  }

  Scheduler scheduler;
  std::uint64_t told = 0;
  std::int32_t stop_at = -1;  // the position whose token ends a sequence

 private:
  void draw(const Plan& plan, const RunEntry& entry) {
    const auto tokens = plan.tokens_of(entry);
    for (std::uint32_t at = entry.known_count(); at <= tokens.size(); ++at) {
      const std::int32_t position = entry.first_position + static_cast<std::int32_t>(at);
      result_.outcomes.push_back({entry.sequence, text_(position), position == stop_at});
      if (at < tokens.size() && tokens[at] != text_(position)) break;
    }
  }
  void hear(std::span<const Event> events) {
    for (const Event& event : events) {
      if (event.kind != EventKind::kToken) continue;
      ++told;
      EXPECT_EQ(event.token, text_(prompt_ + event.count));
    }
    look();
  }
  void look() const {
    const auto broken = check(scheduler);
    EXPECT_FALSE(broken.has_value()) << "invariant " << broken->number << ": " << broken->what;
  }

  std::function<TokenId(std::int32_t)> text_;
  StepResult result_;
  std::int32_t prompt_ = 0;
  std::uint64_t requests_ = 0;
  std::int64_t now_ns_ = 0;
};

Config guessing(std::int32_t seats = 4) {
  Config config;
  config.choices = *choices_of("vllm");
  config.choices.speculation = Speculation::kNgram;
  config.limits.max_seqs = seats;
  config.cost = {.step_ns = 10'000, .token_ps = 1'000'000, .context_ps = 0, .chunk_context_ps = 0};
  return config;
}

TokenId in_circles(std::int32_t at) { return at % 7; }
TokenId never_twice(std::int32_t at) { return at; }
// The same pairs all the time, and never the same behind them.
TokenId misleading(std::int32_t at) { return at % 3 == 2 ? 100 + at : at % 3; }

TEST(Speculation, WhoRepeatsTakesFewerStepsAndSaysTheSame) {
  Config plain = guessing();
  plain.choices.speculation = Speculation::kOff;
  Parrot slow(plain, in_circles);
  slow.submit(30, 200);
  EXPECT_EQ(slow.run(), 200);
  Parrot fast(guessing(), in_circles);
  fast.submit(30, 200);
  EXPECT_LT(fast.run(), 50);
  EXPECT_EQ(fast.told, 200u);
  const Stats stats = fast.scheduler.stats();
  EXPECT_EQ(stats.tokens_sampled, 200u);
  EXPECT_EQ(stats.tokens_accepted, stats.tokens_drafted);
}

TEST(Speculation, WhoCannotBeGuessedCostsNothing) {
  Parrot parrot(guessing(), never_twice);
  parrot.submit(30, 200);
  EXPECT_EQ(parrot.run(), 200);
  EXPECT_EQ(parrot.scheduler.stats().tokens_drafted, 0u);
}

TEST(Speculation, WhoMisleadsIsSoonBelievedNoMore) {
  Parrot parrot(guessing(), misleading);
  parrot.submit(30, 600);
  parrot.run();
  // Two of three tokens could be guessed; after the pair the guess is always wrong.
  EXPECT_LT(parrot.scheduler.stats().tokens_drafted, 20u);
}

TEST(Speculation, NobodyGuessesWhileMoreRunThanAreAllowed) {
  Config config = guessing(6);
  config.tuning.draft_seqs = 2;
  Parrot parrot(config, in_circles);
  for (int rider = 0; rider < 3; ++rider) parrot.submit(30, 40 + 40 * rider);
  while (parrot.scheduler.stats().running != 2) {
    ASSERT_EQ(parrot.scheduler.stats().tokens_drafted, 0u);
    parrot.step();
  }
  parrot.run();
  EXPECT_GT(parrot.scheduler.stats().tokens_accepted, 20u);
}

TEST(Speculation, NobodyGuessesWhereATokenCostsAsMuchAsAStep) {
  Config config = guessing();
  config.cost.step_ns = 0;
  Parrot parrot(config, in_circles);
  parrot.submit(30, 100);
  EXPECT_EQ(parrot.run(), 100);
}

TEST(Speculation, OthersSeeAtMostHalfAsLongAGapMore) {
  Config config = guessing();
  Parrot parrot(config, in_circles);
  parrot.submit(30, 100);
  parrot.submit(30, 100);
  parrot.step();  // the prompts
  // 10 us and 1 us a token: two tokens take 12 us, so 18 us hold eight.
  std::size_t most = 0;
  while (parrot.scheduler.stats().running == 2) most = std::max(most, parrot.step().tokens.size());
  EXPECT_EQ(most, 8u);
}

TEST(Speculation, NoGuessGoesBeyondTheEnd) {
  for (std::int32_t tokens = 1; tokens < 40; ++tokens) {
    Parrot parrot(guessing(), in_circles);
    parrot.submit(30, tokens);
    parrot.run();
    EXPECT_EQ(parrot.told, static_cast<std::uint64_t>(tokens));
  }
}

TEST(Speculation, NothingIsToldBehindAStop) {
  for (std::int32_t at = 31; at < 80; ++at) {
    Parrot parrot(guessing(), in_circles);
    parrot.stop_at = at;
    parrot.submit(30, 200);
    parrot.run();
    EXPECT_EQ(parrot.told, static_cast<std::uint64_t>(at - 30 + 1));
  }
}

TEST(Speculation, TakesNoBlockThatSomebodyAboardMayNeed) {
  const auto preemptions = [](Speculation speculation) {
    Config config = guessing();
    config.choices.speculation = speculation;
    config.limits.num_blocks = 12;
    config.limits.max_len = 200;
    Parrot parrot(config, in_circles);
    for (int rider = 0; rider < 4; ++rider) parrot.submit(20, 60);
    parrot.run();
    return parrot.scheduler.stats().preemptions;
  };
  EXPECT_LE(preemptions(Speculation::kNgram), preemptions(Speculation::kOff));
}

TEST(Speculation, EveryPresetDoesIt) {
  for (const Preset& preset : presets()) {
    Config config = guessing();
    config.choices = preset.choices;
    config.choices.speculation = Speculation::kNgram;
    Parrot parrot(config, in_circles);
    parrot.submit(30, 100);
    EXPECT_LT(parrot.run(), 60) << preset.name;
    EXPECT_EQ(parrot.told, 100u);
  }
}

}  // namespace
}  // namespace paternoster::scheduler
