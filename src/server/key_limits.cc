#include "server/key_limits.h"

#include <algorithm>
#include <cmath>

namespace paternoster::server {
namespace {

constexpr double kMinuteNs = 60e9;
constexpr std::int64_t kConcurrencyRetryMs = 1000;

}  // namespace

void KeyLimits::fill(Use& use, const KeyTerms& terms, std::int64_t now_ns) const {
  const auto full = static_cast<double>(terms.tokens_per_minute);
  const double rate = full / kMinuteNs;
  if (use.tokens_per_ns == 0) {
    use.tokens = full;  // new, or without a limit until now
  } else {
    use.tokens = std::min(full, use.tokens + static_cast<double>(now_ns - use.filled_ns) * rate);
  }
  use.tokens_per_ns = rate;
  use.filled_ns = now_ns;
}

std::optional<api::ApiError> KeyLimits::begin(const KeyTerms& terms, std::int64_t now_ns) {
  Use& use = uses_[terms.name];
  if (terms.most_concurrent > 0 && use.requests >= terms.most_concurrent) {
    return api::rate_limited("tenant_queue_full",
                             "This key may have " + std::to_string(terms.most_concurrent) +
                                 " requests at once; wait until one of them has ended.",
                             kConcurrencyRetryMs);
  }
  fill(use, terms, now_ns);
  if (terms.tokens_per_minute > 0 && use.tokens <= 0) {
    const double wait_ms = (1 - use.tokens) / use.tokens_per_ns / 1e6;
    return api::rate_limited("rate_limited",
                             "This key may use " + std::to_string(terms.tokens_per_minute) + " tokens a minute.",
                             static_cast<std::int64_t>(std::ceil(wait_ms)));
  }
  ++use.requests;
  return std::nullopt;
}

void KeyLimits::charge(const std::string& name, std::int64_t tokens) {
  const auto found = uses_.find(name);
  if (found != uses_.end()) found->second.tokens -= static_cast<double>(tokens);
}

void KeyLimits::end(const std::string& name) {
  const auto found = uses_.find(name);
  if (found != uses_.end() && found->second.requests > 0) --found->second.requests;
}

}  // namespace paternoster::server
