// Who asks, and how much it matters: what the scheduler's order, the metrics and the limits go by.
//
// `Wish` is what a request's body and headers ask for; the server makes a Standing of it, within what
// the caller's key allows (server/caller.h). Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paternoster::api {

// Three classes, so that a metric's label has three values. Everything of priority below 0 is urgent,
// everything above 0 can wait.
enum class ServiceClass : std::uint8_t { kUrgent, kStandard, kFlexible };
inline constexpr std::size_t kServiceClasses = 3;

// "priority", "default", "flex": OpenAI's words for a service_tier.
const char* to_string(ServiceClass service_class);
ServiceClass class_of(std::int32_t priority);
// The priority that a class stands for: -1, 0, 1.
std::int32_t priority_of(ServiceClass service_class);
// A tier of OpenAI's, or an objective's name as gateways use it (critical, standard, sheddable).
std::optional<ServiceClass> find_class(std::string_view name);

inline constexpr std::int32_t kMostPriority = 1000;  // either way
inline constexpr std::int64_t kMostTimeoutMs = std::int64_t{24} * 3600 * 1000;
inline constexpr std::size_t kMostNameBytes = 128;  // of a tenant

struct Wish {
  std::optional<std::int32_t> priority;  // lower goes first, as in vLLM
  std::optional<ServiceClass> service_class;
  std::string user;
  std::optional<std::int64_t> timeout_ms;
  std::int32_t expected_tokens = 0;  // 0: not said
};

struct Standing {
  std::string owner;   // the API key's name; empty: there are no keys
  std::string tenant;  // whom the work is charged to; empty: nobody in particular
  std::int32_t weight = 1;  // of the tenant's share
  std::int32_t priority = 0;
  std::optional<std::int64_t> timeout_ms;  // from arrival to the last token
  std::int32_t expected_tokens = 0;
};

}  // namespace paternoster::api
