// Any bytes in any pieces: the events are those of the whole.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "client/event_reader.h"

namespace {

std::vector<std::string> events_of(std::string_view stream, std::size_t piece) {
  paternoster::client::EventReader reader;
  std::vector<std::string> events;
  const auto take = [&](std::string_view data) { events.emplace_back(data); };
  for (std::size_t at = 0; at < stream.size(); at += piece) reader.push(stream.substr(at, piece), take);
  reader.finish(take);
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  PATERNOSTER_CHECK(events_of(stream, data[0] % 64 + 1) == events_of(stream, size));
  return 0;
}
