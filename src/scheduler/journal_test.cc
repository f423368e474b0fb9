#include "scheduler/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "scheduler/scheduler.h"
#include "scheduler/testing/paper_model.h"

namespace paternoster::scheduler {
namespace {

using ::testing::HasSubstr;
using testing::PaperModel;

std::vector<std::uint8_t> recorded() {
  Config config;
  config.limits = {
      .max_seqs = 3, .step_tokens = 8, .block_size = 2, .num_blocks = 12, .max_len = 20};
  auto scheduler = *Scheduler::create(config);
  Journal journal;
  scheduler.record_to(&journal);
  PaperModel model(12, 2);
  StepResult result;
  for (std::uint64_t id = 1; id <= 6; ++id) {
    scheduler.submit(-5, {.id = {id},
                          .prompt = {1, 2, 3, static_cast<TokenId>(id)},
                          .max_tokens = 9,
                          .choices = id == 3 ? 2 : 1});
  }
  std::int64_t now_ns = 1'000'000'000'000;
  while (!scheduler.idle()) {
    const Plan& plan = scheduler.plan(now_ns += 1000);
    if (plan.step == 4) scheduler.cancel(now_ns, RequestId{2});
    model.execute(plan, result);
    scheduler.commit(now_ns += 500, result);
    if (plan.step == 6) scheduler.force_preempt(now_ns, plan.run[0].sequence);
  }
  scheduler.drain();
  const auto bytes = journal.bytes();
  return {bytes.begin(), bytes.end()};
}

// Bytes before the first record.
std::size_t header_size() {
  Journal journal;
  journal.begin(Config{});
  return journal.bytes().size();
}

TEST(Journal, ReplaysToEqualPlanHashes) {
  const auto journal = recorded();
  const auto replayed = replay(journal);
  ASSERT_TRUE(replayed.has_value()) << replayed.error().message;
  EXPECT_EQ(replayed->requests, 6u);
  EXPECT_GT(replayed->plans, 10u);
  EXPECT_EQ(replayed->first_difference, std::nullopt);
}

TEST(Journal, NamesTheFirstPlanThatDiffers) {
  auto journal = recorded();
  // The first prompt's last token: everything that prompt decides changes from the first plan on.
  const std::vector<std::uint8_t> prompt{2, 4, 6, 2};
  const auto at = std::ranges::search(journal, prompt).begin();
  ASSERT_NE(at, journal.end());
  at[3] = 100;
  const auto replayed = replay(journal);
  ASSERT_TRUE(replayed.has_value()) << replayed.error().message;
  EXPECT_EQ(replayed->first_difference, 1u);
}

TEST(Journal, CutOffAnywhereItReplaysWhatThereIs) {
  const auto journal = recorded();
  for (std::size_t length = header_size(); length < journal.size(); ++length) {
    const auto replayed = replay(std::span(journal).first(length));
    ASSERT_TRUE(replayed.has_value()) << length << ": " << replayed.error().message;
    ASSERT_EQ(replayed->first_difference, std::nullopt) << length;
  }
}

TEST(Journal, BytesThatNoSchedulerWroteAreAnErrorAndNeverACrash) {
  const auto journal = recorded();
  EXPECT_THAT(replay({}).error().message, HasSubstr("PNJ3"));
  for (std::uint64_t turn = 0; turn < 3000; ++turn) {
    auto damaged = journal;
    // The limits stay: a pool of a thousand million blocks is valid and slow.
    const std::size_t at =
        header_size() + random_u64(9, 0, turn) % (damaged.size() - header_size());
    damaged[at] = static_cast<std::uint8_t>(random_u64(9, 1, turn));
    static_cast<void>(replay(damaged));
  }
}

TEST(PlanHash, ChangesWithAnyDecision) {
  Plan plan;
  plan.step = 1;
  const std::uint64_t empty = plan_hash(plan);
  plan.queue_reason = WaitReason::kNoBlocks;
  EXPECT_NE(plan_hash(plan), empty);
  plan.queue_reason = WaitReason::kNone;
  plan.preempted.push_back({SequenceId{1}});
  EXPECT_NE(plan_hash(plan), empty);
  // Fixed for ever: journals of one version replay on the next.
  EXPECT_EQ(plan_hash(Plan{}), plan_hash(Plan{}));
}

}  // namespace
}  // namespace paternoster::scheduler
