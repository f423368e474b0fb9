// types_probe FILE: answers of a few riders with every instruction set that runs here, 1 to 3 threads, whole
// prompts and chunks, and every type of KV cache; all must equal the portable kernels' answers for one rider
// at a time, bit for bit. Exit code 1 when any differs.
#include <fmt/format.h>

#include <bit>
#include <vector>

#include "base/random.h"
#include "engine/drive.h"
#include "kernels/attention.h"
#include "kernels/isa.h"
#include "model/model.h"

namespace {

using namespace paternoster;

constexpr int kLengths[] = {1, 17, 40, 71};
constexpr int kOutput = 5;

scheduler::Config config_of(int seats, int step_tokens) {
  scheduler::Config config;
  config.limits.max_seqs = seats;
  config.limits.step_tokens = step_tokens;
  config.limits.num_blocks = 64;
  config.limits.max_len = 128;
  config.limits.prefix_cache = false;
  return config;
}

std::shared_ptr<engine::RequestNumbers> rider(std::size_t index, std::uint32_t vocabulary) {
  auto numbers = std::make_shared<engine::RequestNumbers>();
  numbers->params.temperature = index % 2 == 0 ? 0.0f : 0.8f;
  numbers->params.seed = index;
  numbers->params.logprobs = true;
  for (int i = 0; i < kLengths[index]; ++i) {
    const std::uint64_t word = random_u64(11, index, static_cast<std::uint64_t>(i));
    numbers->prompt.push_back(static_cast<TokenId>(word % vocabulary));
  }
  return numbers;
}

using Answers = std::vector<std::vector<std::uint32_t>>;

Answers answers_of(const engine::PackedModel& model, kernels::KvType type, int threads, int seats,
                   int step_tokens) {
  engine::ThreadPool pool(threads);
  engine::Drive drive(model, pool, config_of(seats, step_tokens), type);
  for (std::size_t i = 0; i < std::size(kLengths); ++i) drive.submit(rider(i, model.config().vocabulary), kOutput);
  drive.run();
  Answers answers;
  for (std::size_t i = 0; i < std::size(kLengths); ++i) {
    answers.emplace_back();
    for (const engine::Drawn& drawn : drive.choices(i)[0].drawn) {
      answers.back().push_back(static_cast<std::uint32_t>(drawn.token));
      answers.back().push_back(std::bit_cast<std::uint32_t>(drawn.chosen.logprob));
    }
  }
  return answers;
}

int differences(const engine::PackedModel& model, kernels::KvType type) {
  kernels::use_isa(kernels::Isa::kScalar);
  const Answers expected = answers_of(model, type, 1, 1, 128);
  int wrong = 0;
  for (const kernels::Isa isa : {kernels::Isa::kScalar, kernels::Isa::kAvx2, kernels::Isa::kAvxVnni,
                                 kernels::Isa::kAvx512Vnni}) {
    if (!kernels::is_available(isa)) continue;
    kernels::use_isa(isa);
    for (const int threads : {1, 2, 3}) {
      for (const int step_tokens : {7, 128}) {
        if (isa == kernels::Isa::kScalar && (threads != 2 || step_tokens != 7)) continue;  // slow
        if (answers_of(model, type, threads, 4, step_tokens) == expected) continue;
        fmt::print("  differs: cache {}, {}, {} threads, steps of {}\n", kernels::kv_type_name(type),
                   kernels::isa_name(isa), threads, step_tokens);
        ++wrong;
      }
    }
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto file = model::load_model(argv[1]);
  if (!file) {
    fmt::print("{}\n", file.error().message);
    return 1;
  }
  engine::ThreadPool pool(1);
  const auto packed = engine::PackedModel::pack(*file, pool);
  if (!packed) {
    fmt::print("{}\n", packed.error().message);
    return 1;
  }
  int wrong = 0;
  for (const auto type : {kernels::KvType::kF16, kernels::KvType::kBF16, kernels::KvType::kQ8_0}) {
    wrong += differences(*packed, type);
  }
  return wrong == 0 ? 0 : 1;
}
