#include "server/caller.h"

#include <algorithm>
#include <charconv>

namespace paternoster::server {
namespace {

api::ApiResult<std::int64_t> number_in(const char* header, const std::string& text, std::int64_t low,
                                       std::int64_t high) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && number >= low && number <= high) return number;
  return std::unexpected(
      api::invalid_value(header, "The header `" + std::string(header) + "` must be an integer from " +
                                     std::to_string(low) + " to " + std::to_string(high) + "."));
}

// An objective that is unknown here is a name in somebody's cluster: it stands for the default.
std::int32_t wished_priority(const api::Wish& wish, const CallerHeaders& headers) {
  if (!headers.objective.empty()) {
    return api::priority_of(api::find_class(headers.objective).value_or(api::ServiceClass::kStandard));
  }
  if (wish.priority) return *wish.priority;
  return wish.service_class ? api::priority_of(*wish.service_class) : 0;
}

// Fit for a label, a log line and a page; other bytes become `?`.
std::string plain_name(std::string_view name) {
  std::string plain(name.substr(0, api::kMostNameBytes));
  for (char& c : plain) {
    if (c < 0x20 || c == 0x7F || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&') c = '?';
  }
  return plain;
}

}  // namespace

api::ApiResult<api::Standing> standing_of(const api::Wish& wish, const CallerHeaders& headers,
                                          const KeyTerms* terms) {
  api::Standing standing;
  standing.priority = wished_priority(wish, headers);
  standing.timeout_ms = wish.timeout_ms;
  standing.expected_tokens = wish.expected_tokens;
  if (!headers.priority.empty()) {
    const auto priority = number_in("x-priority", headers.priority, -api::kMostPriority, api::kMostPriority);
    if (!priority) return std::unexpected(priority.error());
    standing.priority = static_cast<std::int32_t>(*priority);
  }
  if (!headers.timeout_ms.empty()) {
    const auto timeout_ms = number_in("x-request-timeout-ms", headers.timeout_ms, 1, api::kMostTimeoutMs);
    if (!timeout_ms) return std::unexpected(timeout_ms.error());
    standing.timeout_ms = std::min(*timeout_ms, standing.timeout_ms.value_or(api::kMostTimeoutMs));
  }
  if (terms != nullptr) {
    standing.owner = standing.tenant = terms->name;
    standing.weight = terms->weight;
    standing.priority = std::max(standing.priority, terms->most_urgent);
    if (!terms->gateway) return standing;
  }
  const std::string& named = headers.fairness_id.empty() ? wish.user : headers.fairness_id;
  if (named.empty()) return standing;
  standing.tenant = plain_name(named);
  standing.weight = 1;  // the key's is its own
  return standing;
}

}  // namespace paternoster::server
