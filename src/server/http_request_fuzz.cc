// Any bytes, in any pieces, as a client's half of a connection.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "server/http_request.h"

using paternoster::server::RequestReader;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] % 64 + 1;
  RequestReader reader({1024, 4096});
  std::string input;
  for (std::size_t at = 1; at < size; at += piece) {
    input.append(reinterpret_cast<const char*>(data) + at, std::min(piece, size - at));
    for (bool more = true; more;) {
      switch (reader.feed(input)) {
        case RequestReader::Status::kBad:
          PATERNOSTER_CHECK(reader.error().status >= 400 && reader.error().status < 500);
          return 0;
        case RequestReader::Status::kDone:
          PATERNOSTER_CHECK(reader.request().body.size() <= 4096);
          reader.reset();
          more = !input.empty();
          break;
        case RequestReader::Status::kHead: more = !input.empty(); break;
        case RequestReader::Status::kMore: more = false; break;
      }
    }
  }
  return 0;
}
