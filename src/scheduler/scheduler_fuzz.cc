// Bytes to a scheduler's life: a configuration, then verbs, with every invariant checked
// (testing/script.h); and the same bytes as a journal, which must be an error or a replay.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "scheduler/journal.h"
#include "scheduler/testing/script.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paternoster::scheduler;
  using testing::Script;
  const std::span<const std::uint8_t> bytes(data, size);
  if (size > 4 && data[0] == 'P' && data[1] == 'N') {
    // Bigger pools than this are valid and only slow.
    Journal small;
    Config config;
    config.choices.order = static_cast<Order>(data[2] % 6);
    config.limits = {.max_seqs = 3, .step_tokens = 8, .block_size = 2, .num_blocks = 16,
                     .max_len = 40, .max_queue = 4, .max_choices = 4, .protect_after = 2};
    small.begin(config);
    std::vector<std::uint8_t> journal = small.take();
    journal.insert(journal.end(), bytes.begin() + 3, bytes.end());
    static_cast<void>(replay(journal));
    return 0;
  }
  auto at = std::make_shared<std::size_t>(0);
  const Script::Bytes next = [=] { return *at < size ? data[(*at)++] : std::uint8_t{0}; };
  Script script(Script::config_of(next), next);
  while (*at < size && script.act()) {
  }
  if (!script.finish()) {
    std::fprintf(stderr, "%s\n", script.failure().c_str());
    std::abort();
  }
  return 0;
}
