// engine_bench --texts: the same requests answered with and without guessing ahead, in turn, in one process.
#pragma once

#include <string>
#include <vector>

#include "engine/loaded_model.h"
#include "engine/thread_pool.h"

namespace paternoster::engine {

struct SpeculationBench {
  std::string texts;  // a file: a JSON array of {"ask": ..., "text": ...}
  std::vector<int> sequences;
  int rounds = 5;
  int tokens = 160;  // most of an answer
  float temperature = 0;
};

// Prints a JSON object a round and number of sequences. Non-zero when the texts cannot be read, or when two
// answers are not equal to the bit.
int run_speculation_bench(const SpeculationBench& bench, const LoadedModel& model, ThreadPool& pool);

}  // namespace paternoster::engine
