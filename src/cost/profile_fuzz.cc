// Any bytes as a profile and as a step log.
#include <sstream>

#include "base/check.h"
#include "cost/fit.h"
#include "cost/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paternoster::cost;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto profile = parse_profile(text, "fuzz")) {
    PATERNOSTER_CHECK(parse_profile(profile_json(*profile), "fuzz").has_value());
  }
  std::istringstream in(text);
  if (const auto steps = read_step_log(in, "fuzz")) {
    const auto fit = fit_steps_however_bad(*steps);
    if (fit) PATERNOSTER_CHECK(fit->terms.fixed_ps >= 0 && fit->terms.chunk_context_ps >= 0);
  }
  return 0;
}
