// What a scrape costs: an endpoint picker asks for /metrics every 50 ms.
#include <benchmark/benchmark.h>

#include "measure/serving.h"

namespace {

using namespace paternoster;

void render(benchmark::State& state) {
  measure::ServingMetrics metrics("smollm2");
  metrics.label_tenants();
  for (std::int64_t tenant = 0; tenant < state.range(0); ++tenant) {
    scheduler::Request request;
    request.id = RequestId{static_cast<std::uint64_t>(tenant)};
    metrics.arrived(request, 0, "tenant" + std::to_string(tenant));
  }
  std::size_t bytes = 0;
  for (auto _ : state) bytes = metrics.render().size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(render)->Arg(0)->Arg(8)->Arg(64);

}  // namespace
