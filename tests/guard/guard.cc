// guard NAME REPEATS: does one piece of work so many times, for a counter of instructions (guard.py). Without
// arguments: prints the names.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/matmul.h"
#include "kernels/vocabulary.h"
#include "scheduler/scheduler.h"

namespace {

using namespace paternoster;
using Work = std::function<void(int repeats)>;

std::vector<float> some_floats(std::size_t count) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(random_u64(1, 2, i) % 2000) * 1e-3f - 1.0f;
  return out;
}

void multiply(kernels::TensorType type, std::size_t tokens, int repeats) {
  constexpr std::size_t kRows = 64, kCols = 512;
  std::vector<std::byte> bytes(kRows * kernels::row_bytes(type, kCols));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(random_u64(1, 1, i) & 0x3F);
  const auto weights = kernels::PackedMatrix::pack(type, kRows, kCols, bytes);
  PATERNOSTER_CHECK(weights.has_value());
  kernels::Activations in;
  in.resize(tokens, kCols);
  for (std::size_t t = 0; t < tokens; ++t) {
    const auto values = some_floats(kCols);
    std::memcpy(in.values(t), values.data(), kCols * sizeof(float));
  }
  std::vector<float> out(tokens * kRows);
  for (int i = 0; i < repeats; ++i) {
    kernels::quantise(in, 0, tokens);
    kernels::matmul(*weights, in, {0, tokens}, {0, weights->tiles()}, out.data(), kRows);
  }
}

void attend(kernels::KvType type, std::size_t queries, int repeats) {
  const kernels::AttentionShape shape{9, 3, 64, 0, 0.125f, type};
  constexpr std::size_t kContext = 512;
  const std::size_t width = shape.heads * shape.head_dim;
  std::vector<std::byte> pool(kernels::kv_block_bytes(shape) * (kContext / 16), std::byte{0x34});
  std::vector<std::uint32_t> blocks(kContext / 16);
  for (std::size_t b = 0; b < blocks.size(); ++b) blocks[b] = static_cast<std::uint32_t>(b);
  const auto in = some_floats(queries * width);
  std::vector<float> out(queries * width);
  for (int i = 0; i < repeats; ++i) {
    kernels::attention(shape, pool.data(),
                       {in.data(), width, out.data(), width, blocks.data(), kContext - queries, queries}, 0);
  }
}

void between(int repeats) {
  const auto gates = some_floats(1536), ups = some_floats(1536), weight = some_floats(576);
  kernels::Activations wide, narrow;
  wide.resize(1, 1536);
  narrow.resize(1, 576);
  for (int i = 0; i < repeats; ++i) {
    kernels::rms_norm_quantise(gates.data(), weight.data(), 1e-5f, narrow, 0);
    kernels::gated_product_quantise(kernels::Gate::kSilu, gates.data(), ups.data(), wide, 0, 0, 1536 / 32);
  }
}

void read_logits(int repeats) {
  const auto logits = some_floats(49152);
  std::vector<kernels::ScoredToken> best;
  for (int i = 0; i < repeats; ++i) {
    if (kernels::argmax(logits) < 0) std::abort();
    kernels::top_k(logits, 20, best);
  }
}

// plan and commit of one decode step with so many sequences.
void plan(int sequences, int repeats) {
  scheduler::Config config;
  config.limits.max_seqs = sequences;
  config.limits.max_queue = sequences;
  config.limits.step_tokens = 64 * sequences;
  config.limits.max_len = 512;
  config.limits.num_blocks = 32 * sequences;
  config.limits.prefix_cache = false;
  auto made = scheduler::Scheduler::create(config);
  PATERNOSTER_CHECK(made.has_value());
  for (int i = 0; i < sequences; ++i) {
    scheduler::Request request;
    request.id = RequestId{static_cast<std::uint64_t>(i)};
    request.prompt.assign(16, 1);
    request.max_tokens = 400;
    made->submit(0, std::move(request));
  }
  scheduler::StepResult result;
  for (int i = 0; i < repeats + 2; ++i) {  // the first two are prefill and warming up
    result.outcomes.clear();
    for (const scheduler::RunEntry& entry : made->plan(i).run) {
      if (entry.samples) result.outcomes.push_back({entry.sequence, 5, false});
    }
    made->commit(i, result);
  }
}

std::map<std::string, Work> works() {
  std::map<std::string, Work> all;
  for (const auto type : {kernels::TensorType::kQ4_0, kernels::TensorType::kQ4_1, kernels::TensorType::kQ8_0,
                          kernels::TensorType::kQ4_K, kernels::TensorType::kQ6_K}) {
    for (const std::size_t tokens : {1, 8, 128}) {
      all["matmul/" + std::string(kernels::type_name(type)) + "/" + std::to_string(tokens)] =
          [type, tokens](int repeats) { multiply(type, tokens, repeats); };
    }
  }
  for (const auto type : {kernels::KvType::kF16, kernels::KvType::kQ8_0}) {
    const std::string name = std::string("attention/") + kernels::kv_type_name(type);
    all[name + "/decode"] = [type](int repeats) { attend(type, 1, repeats); };
    all[name + "/prefill"] = [type](int repeats) { attend(type, 16, repeats); };
  }
  all["norm and gate"] = between;
  all["logits"] = read_logits;
  for (const int sequences : {1, 64, 1024}) {
    all["plan/" + std::to_string(sequences)] = [sequences](int repeats) { plan(sequences, repeats); };
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const auto all = works();
  if (argc < 3) {
    for (const auto& [name, work] : all) std::puts(name.c_str());
    return 0;
  }
  const auto found = all.find(argv[1]);
  if (found == all.end()) return 2;
  found->second(std::atoi(argv[2]));
  return 0;
}
