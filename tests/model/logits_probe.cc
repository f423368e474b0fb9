// logits_probe MODEL reference|fast: for each line of token ids on standard input, one line with the
// logits after the last of them, from the float32 reference or from the fast path in one prefill.
// For architecture_judge.py.
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "engine/forward.h"
#include "engine/reference_model.h"
#include "engine/thread_pool.h"
#include "model/model.h"

namespace {

using namespace paternoster;

void print(const float* logits, std::size_t count) {
  for (std::size_t id = 0; id < count; ++id) std::printf("%.9g ", logits[id]);
  std::printf("\n");
}

void print_reference(const model::Model& model, engine::ThreadPool& pool,
                     const std::vector<TokenId>& tokens) {
  const engine::ReferenceModel reference(model, pool);
  const engine::Rows hidden = reference.hidden(tokens);
  const engine::Rows logits = reference.logits(hidden, tokens.size() - 1, tokens.size());
  print(logits.row(0), logits.width);
}

void print_fast(const engine::PackedModel& packed, engine::ThreadPool& pool,
                const std::vector<TokenId>& tokens) {
  scheduler::Plan plan;
  plan.tokens = tokens;
  for (std::uint32_t block = 0; block * 16 < tokens.size(); ++block) plan.blocks.push_back({block});
  scheduler::RunEntry entry;
  entry.token_count = static_cast<std::uint32_t>(tokens.size());
  entry.block_count = static_cast<std::uint32_t>(plan.blocks.size());
  entry.samples = true;
  plan.run.push_back(entry);
  engine::KvCache cache(packed.layers().size(), packed.layers()[0].shape, plan.blocks.size());
  engine::Forward forward(packed, cache, pool, tokens.size());
  forward.run(plan);
  const std::uint32_t last[] = {entry.token_count - 1};
  forward.compute_logits(last);
  print(forward.logits(0).data(), forward.logits(0).size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const Result<model::Model> model = model::load_model(argv[1]);
  if (!model) {
    std::cerr << model.error().message << '\n';
    return 1;
  }
  engine::ThreadPool pool(1);
  const auto packed = engine::PackedModel::pack(*model, pool);
  if (!packed) {
    std::cerr << packed.error().message << '\n';
    return 1;
  }
  const bool fast = std::string_view(argv[2]) == "fast";
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::vector<TokenId> tokens;
    for (TokenId token = 0; words >> token;) tokens.push_back(token);
    if (fast) {
      print_fast(*packed, pool, tokens);
    } else {
      print_reference(*model, pool, tokens);
    }
  }
  return 0;
}
