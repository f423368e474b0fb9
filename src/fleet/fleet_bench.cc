// What planning a tick costs: a pool of n requests cut and placed over 8 engines. `per_request` is the
// figure that docs/fleet.md quotes.
#include <benchmark/benchmark.h>

#include "base/random.h"
#include "fleet/fleet.h"
#include "fleet/presets.h"

namespace {

using namespace paternoster::fleet;
using paternoster::RequestId;

void plan_a_tick(benchmark::State& state, std::string_view preset) {
  Limits limits;
  limits.instances = 8;
  limits.slice_tokens = 128;
  limits.max_batch = 32;
  const auto requests = static_cast<std::uint64_t>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    Fleet fleet = *Fleet::create(*config_of(preset, limits));
    for (std::uint64_t id = 1; id <= requests; ++id) {
      Request request;
      request.id = RequestId{id};
      request.prompt_tokens = 1 + static_cast<std::int32_t>(paternoster::random_u64(1, 0, id) % 2000);
      request.max_tokens = 1000;
      fleet.submit(0, std::move(request));
    }
    state.ResumeTiming();
    benchmark::DoNotOptimize(fleet.plan(0).batches.size());
  }
  state.counters["per_request"] =
      benchmark::Counter(static_cast<double>(requests) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(plan_a_tick, spread, "spread")->Arg(64)->Arg(1024)->Arg(16384);
BENCHMARK_CAPTURE(plan_a_tick, sls, "sls")->Arg(64)->Arg(1024)->Arg(16384);
BENCHMARK_CAPTURE(plan_a_tick, scls, "scls")->Arg(64)->Arg(1024)->Arg(16384);

}  // namespace
