// logits_probe MODEL: for each line of token ids on standard input, one line with the float32
// reference's logits after the last of them. For architecture_judge.py.
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "engine/reference_model.h"
#include "engine/thread_pool.h"
#include "model/model.h"

int main(int argc, char** argv) {
  using namespace paternoster;
  if (argc != 2) return 2;
  const Result<model::Model> model = model::load_model(argv[1]);
  if (!model) {
    std::cerr << model.error().message << '\n';
    return 1;
  }
  engine::ThreadPool pool(1);
  const engine::ReferenceModel reference(*model, pool);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::vector<TokenId> tokens;
    for (TokenId token = 0; words >> token;) tokens.push_back(token);
    const engine::Rows hidden = reference.hidden(tokens);
    const engine::Rows logits = reference.logits(hidden, tokens.size() - 1, tokens.size());
    for (std::size_t id = 0; id < logits.width; ++id) std::printf("%.9g ", logits.row(0)[id]);
    std::printf("\n");
  }
  return 0;
}
