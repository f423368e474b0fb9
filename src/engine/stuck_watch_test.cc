#include "engine/stuck_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/presets.h"

namespace paternoster::engine {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

scheduler::Scheduler scheduler_of(const char* preset) {
  scheduler::Config config;
  config.choices = *scheduler::choices_of(preset);
  config.limits = {.max_seqs = 2, .step_tokens = 16, .block_size = 4, .num_blocks = 8, .max_len = 32};
  config.tuning.window_ns = 60 * kSecond;
  return *scheduler::Scheduler::create(config);
}

void submit(scheduler::Scheduler& scheduler, std::uint64_t id) {
  scheduler::Request request;
  request.id = RequestId{id};
  request.prompt = {1, 2, 3};
  ASSERT_EQ(scheduler.submit(0, request).back().kind, scheduler::EventKind::kAccepted);
}

std::string name_of(RequestId request) { return "request-" + std::to_string(request.value); }

// The scheduler never gets into this by itself, so it is kept from planning.
TEST(StuckWatch, TellsTheStateOnceWhenSomebodyWaitsAndNobodyRuns) {
  scheduler::Scheduler scheduler = scheduler_of("vllm");
  submit(scheduler, 7);
  submit(scheduler, 8);
  StuckWatch watch;
  EXPECT_FALSE(watch.nothing_ran(scheduler, 10 * kSecond, name_of)) << "it has only begun";
  EXPECT_FALSE(watch.nothing_ran(scheduler, 15 * kSecond, name_of));
  const auto told = watch.nothing_ran(scheduler, 15 * kSecond + 1, name_of);
  ASSERT_TRUE(told);
  EXPECT_THAT(*told, HasSubstr("0 run, 2 wait (0 parked); blocks: 0 used, 0 cached, 8 free, 0 reserved"));
  EXPECT_THAT(*told, HasSubstr("sequence 1 of request-7 waits: "));
  EXPECT_THAT(*told, HasSubstr("sequence 2 of request-8 waits: "));
  EXPECT_FALSE(watch.nothing_ran(scheduler, 60 * kSecond, name_of)) << "once is enough";
  watch.stepped();
  EXPECT_FALSE(watch.nothing_ran(scheduler, 61 * kSecond, name_of)) << "a step was made: it counts anew";
  EXPECT_TRUE(watch.nothing_ran(scheduler, 67 * kSecond, name_of));
}

TEST(StuckWatch, IsSilentWhenNobodyWaitsOrAWindowIsOpen) {
  scheduler::Scheduler idle = scheduler_of("vllm");
  StuckWatch watch;
  EXPECT_FALSE(watch.nothing_ran(idle, kSecond, name_of));
  EXPECT_FALSE(watch.nothing_ran(idle, 60 * kSecond, name_of));

  scheduler::Scheduler gathers = scheduler_of("window");
  submit(gathers, 1);
  ASSERT_TRUE(gathers.plan(kSecond).empty());
  gathers.commit(kSecond, {});
  EXPECT_FALSE(watch.nothing_ran(gathers, kSecond, name_of));
  EXPECT_FALSE(watch.nothing_ran(gathers, 50 * kSecond, name_of));
}

TEST(StuckWatch, NamesAtMostTwenty) {
  scheduler::Scheduler scheduler = scheduler_of("vllm");
  for (std::uint64_t id = 1; id <= 30; ++id) submit(scheduler, id);
  const std::string text = describe(scheduler, name_of);
  EXPECT_EQ(std::ranges::count(text, '\n'), 20);
  EXPECT_THAT(text, HasSubstr("30 wait"));
}

}  // namespace
}  // namespace paternoster::engine
