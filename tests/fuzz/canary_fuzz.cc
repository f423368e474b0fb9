#include <cstddef>
#include <cstdint>
#include <memory>

// Reads one byte past a heap block once the input starts with "lift": the fuzzer has to find both.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4 || data[0] != 'l' || data[1] != 'i' || data[2] != 'f' || data[3] != 't') return 0;
  auto block = std::make_unique<std::uint8_t[]>(4);
  volatile std::size_t past = 4;
  volatile std::uint8_t sink = block[past];
  return sink == 0 ? 0 : 0;
}
