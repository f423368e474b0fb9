// In the steady state (everyone decodes, nobody comes or goes) plan and commit allocate nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "scheduler/presets.h"
#include "scheduler/scheduler.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {
std::atomic<std::uint64_t> allocations{0};
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace paternoster::scheduler {
namespace {

class Allocation : public ::testing::TestWithParam<const char*> {};

TEST_P(Allocation, NoneInTheSteadyState) {
  Config config;
  config.choices = *choices_of(GetParam());
  config.limits = {
      .max_seqs = 16, .step_tokens = 64, .block_size = 4, .num_blocks = 2000, .max_len = 400};
  config.choices.speculation = Speculation::kNgram;
  config.tuning.draft_seqs = 16;
  config.tuning.itl_target_ns = 1'000'000'000'000;
  auto scheduler = *Scheduler::create(config);
  for (std::uint64_t id = 1; id <= 20; ++id) {
    scheduler.submit(0, {.id = {id}, .prompt = std::vector<TokenId>(30, 1), .max_tokens = 300});
  }
  StepResult result;
  result.outcomes.reserve(16);
  std::uint64_t before = 0;
  for (int step = 0; step < 250; ++step) {
    // After the first hundred the capacity of the plan is warm for tables of this length and twice
    // it.
    if (step == 140) before = allocations;
    const Plan& plan = scheduler.plan(step);
    result.outcomes.clear();
    for (const RunEntry& entry : plan.run) {
      if (entry.samples) result.outcomes.push_back({entry.sequence, 3, false});
    }
    scheduler.commit(step, result);
  }
  EXPECT_EQ(scheduler.stats().running, 16);
  // The flat plan doubles when tables have grown; nothing else.
  EXPECT_LE(allocations - before, 1u);
}

INSTANTIATE_TEST_SUITE_P(Presets, Allocation,
                         ::testing::Values("static", "vllm", "fastserve", "vtc", "home", "cluster"));

}  // namespace
}  // namespace paternoster::scheduler

#endif
