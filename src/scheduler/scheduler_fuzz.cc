// Bytes to a scheduler's life: a configuration, then verbs, with every invariant checked
// (testing/script.h); and the same bytes as a journal, which must be an error or a replay.
#include "base/testing/script_bytes.h"
#include "scheduler/journal.h"
#include "scheduler/testing/script.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paternoster::scheduler;
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
  paternoster::play_bytes<testing::Script>(data, size);
  return 0;
}
