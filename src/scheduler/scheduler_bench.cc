// What a step costs to plan and to commit: N running sequences that decode, prefix cache on, tables
// of 64 blocks; nobody arrives or leaves. `per_sequence` is the figure that docs/scheduling.md
// quotes. The second family has classes, tenants or targets to mind, with some who wait.
#include <benchmark/benchmark.h>

#include "scheduler/presets.h"
#include "scheduler/scheduler.h"

namespace {

using namespace paternoster::scheduler;
using paternoster::RequestId;

Scheduler loaded(std::int32_t sequences, std::int32_t waiting, const char* preset) {
  Config config;
  config.choices = *choices_of(preset);
  config.tuning.itl_target_ns = 1'000'000'000'000;
  config.limits = {.max_seqs = sequences,
                   .step_tokens = sequences + 4096,
                   .block_size = 16,
                   .num_blocks = (sequences + 1) * 640,
                   .max_len = 10240,
                   .max_queue = 1 << 20};
  auto scheduler = *Scheduler::create(config);
  for (std::int32_t at = 0; at < sequences + waiting; ++at) {
    Request request;
    request.id = RequestId{static_cast<std::uint64_t>(at) + 1};
    request.max_tokens = 9000;
    request.prompt.assign(1000, at);
    request.tenant = paternoster::TenantId{static_cast<std::uint32_t>(at % 16)};
    request.priority = at % 4;
    scheduler.submit(0, std::move(request));
  }
  return scheduler;
}

void answer(const Plan& plan, StepResult& result) {
  result.outcomes.clear();
  for (const RunEntry& entry : plan.run) {
    if (entry.samples) result.outcomes.push_back({entry.sequence, 7, false});
  }
}

// Everyone aboard and decoding.
Scheduler decoding(std::int32_t sequences, std::int32_t waiting, const char* preset,
                   StepResult& result) {
  Scheduler scheduler = loaded(sequences, waiting, preset);
  while (true) {
    const Plan& plan = scheduler.plan(0);
    answer(plan, result);
    scheduler.commit(0, result);
    if (result.outcomes.size() == static_cast<std::size_t>(sequences) &&
        plan.tokens.size() == result.outcomes.size()) {
      return scheduler;
    }
  }
}

void plan_and_commit(benchmark::State& state, const char* preset) {
  const auto sequences = static_cast<std::int32_t>(state.range(0));
  const auto waiting = static_cast<std::int32_t>(state.range(1));
  StepResult result;
  Scheduler scheduler = decoding(sequences, waiting, preset, result);
  std::int64_t steps = 0;
  for (auto _ : state) {
    if (++steps % 8000 == 0) {  // before anybody reaches the end
      state.PauseTiming();
      scheduler = decoding(sequences, waiting, preset, result);
      state.ResumeTiming();
    }
    const Plan& plan = scheduler.plan(steps);
    answer(plan, result);
    benchmark::DoNotOptimize(scheduler.commit(steps, result).data());
  }
  state.counters["per_sequence"] =
      benchmark::Counter(static_cast<double>(sequences) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(plan_and_commit, vllm, "vllm")
    ->ArgNames({"running", "waiting"})
    ->Args({1, 0})
    ->Args({64, 0})
    ->Args({1024, 0})
    ->Args({64, 10000});
BENCHMARK_CAPTURE(plan_and_commit, home, "home")
    ->ArgNames({"running", "waiting"})
    ->Args({1, 0})
    ->Args({64, 0})
    ->Args({1024, 0})
    ->Args({64, 10000});
BENCHMARK_CAPTURE(plan_and_commit, cluster, "cluster")
    ->ArgNames({"running", "waiting"})
    ->Args({64, 10000})
    ->Args({1024, 1000});
BENCHMARK_CAPTURE(plan_and_commit, fastserve, "fastserve")
    ->ArgNames({"running", "waiting"})
    ->Args({64, 1000});

}  // namespace
