// Bytes to a fleet's life: a configuration, then verbs, with every invariant checked
// (testing/script.h).
#include "base/testing/script_bytes.h"
#include "fleet/testing/script.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paternoster::play_bytes<paternoster::fleet::testing::Script>(data, size);
  return 0;
}
