// llama_perplexity MODEL IDS: the perplexity llama.cpp gives to the windows that evaluate wrote, one a
// line. Compiled by compare_llama.py against a llama.cpp that benchmarks/peers has built.
#include <llama.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  llama_backend_init();
  llama_model_params model_params = llama_model_default_params();
  llama_model* model = llama_model_load_from_file(argv[1], model_params);
  if (model == nullptr) return 1;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 512;
  params.n_batch = 512;
  params.n_ubatch = 512;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) return 1;
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  std::ifstream file(argv[2]);
  double nll = 0;
  long count = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::vector<llama_token> tokens;
    for (llama_token token = 0; words >> token;) tokens.push_back(token);
    llama_memory_clear(llama_get_memory(context), true);
    llama_batch batch = llama_batch_init(static_cast<int>(tokens.size()), 0, 1);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      batch.token[i] = tokens[i];
      batch.pos[i] = static_cast<llama_pos>(i);
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = 0;
      batch.logits[i] = 1;
    }
    batch.n_tokens = static_cast<int>(tokens.size());
    if (llama_decode(context, batch) != 0) return 1;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      const float* logits = llama_get_logits_ith(context, static_cast<int>(i));
      const double largest = *std::max_element(logits, logits + vocabulary);
      double sum = 0;
      for (int id = 0; id < vocabulary; ++id) sum += std::exp(logits[id] - largest);
      nll += largest + std::log(sum) - logits[tokens[i + 1]];
      ++count;
    }
    llama_batch_free(batch);
  }
  std::printf("{\"tokens\": %ld, \"perplexity\": %.4f}\n", count, std::exp(nll / static_cast<double>(count)));
  return 0;
}
