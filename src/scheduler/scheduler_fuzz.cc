// Bytes to a scheduler's life: a configuration, then verbs, with every invariant checked
// (testing/script.h); and the same bytes as a journal, which must be an error or a replay.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "scheduler/journal.h"
#include "scheduler/testing/script.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using paternoster::scheduler::testing::Script;
  const std::span<const std::uint8_t> bytes(data, size);
  if (size > 4 && data[0] == 'P' && data[1] == 'N') {
    // Bigger pools than this are valid and only slow.
    std::vector<std::uint8_t> journal{'P', 'N', 'J', '2', 1, 0, 1, 1, 6, 16, 4, 32, 80, 8, 8, 4, 1};
    journal.insert(journal.end(), bytes.begin() + 2, bytes.end());
    static_cast<void>(paternoster::scheduler::replay(journal));
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
