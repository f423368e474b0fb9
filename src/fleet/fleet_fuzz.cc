// Bytes to a fleet's life: a configuration, then verbs, with every invariant checked
// (testing/script.h).
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "fleet/testing/script.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using paternoster::fleet::testing::Script;
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
