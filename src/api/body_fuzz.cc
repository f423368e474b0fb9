// Any bytes as the body of every route: a request or an error that names what is wrong, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/request.h"
#include "base/check.h"

namespace api = paternoster::api;

namespace {

template <typename T>
void check(const api::ApiResult<T>& result) {
  if (result) return;
  PATERNOSTER_CHECK(result.error().status == 400);
  PATERNOSTER_CHECK(!result.error().message.empty() && !result.error().code.empty());
}

void check_ask(const api::ApiResult<api::Ask>& ask) {
  check(ask);
  if (!ask) return;
  for (const api::Generation& generation : ask->generations) {
    PATERNOSTER_CHECK(generation.choices >= 1 && generation.choices <= api::kMostChoices);
    PATERNOSTER_CHECK(!generation.max_tokens || *generation.max_tokens >= 1);
    PATERNOSTER_CHECK(generation.sampling.temperature >= 0 && generation.sampling.temperature <= 2);
    PATERNOSTER_CHECK(generation.stop.size() <= api::kMostStops);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  check_ask(api::parse_chat(body));
  check_ask(api::parse_completion(body));
  check(api::parse_tokenize(body));
  check(api::parse_detokenize(body));
  return 0;
}
