// How long it takes from a path to a checked model; the files' pages are warm after the first round.
#include <benchmark/benchmark.h>

#include <string>

#include "model/dequantize.h"
#include "model/model.h"
#include "model/model_path.h"

namespace paternoster::model {
namespace {

void load_known(benchmark::State& state, std::string_view name) {
  const auto path = resolve_model(name);
  if (!path) {
    state.SkipWithError(path.error().message.c_str());
    return;
  }
  for (auto _ : state) {
    auto model = load_model(*path);
    benchmark::DoNotOptimize(model);
  }
}
BENCHMARK_CAPTURE(load_known, smollm2, "smollm2")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load_known, gemma3, "gemma3-270m")->Unit(benchmark::kMillisecond);

void dequantize_blocks(benchmark::State& state) {
  const TensorTypeTraits& type = tensor_types()[static_cast<std::size_t>(state.range(0))];
  std::vector<float> values(256 * 1024);
  const std::vector<std::byte> bytes(bytes_of(type.type, values.size()));
  for (auto _ : state) {
    dequantize(type.type, bytes, values);
    benchmark::DoNotOptimize(values.data());
  }
  state.SetLabel(std::string(type.name));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * values.size()));
}
BENCHMARK(dequantize_blocks)->DenseRange(0, 12);

}  // namespace
}  // namespace paternoster::model
