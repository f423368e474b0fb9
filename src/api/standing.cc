#include "api/standing.h"

#include <array>
#include <utility>

namespace paternoster::api {
namespace {

constexpr std::int32_t kClassStep = 1;

constexpr std::array<std::pair<std::string_view, ServiceClass>, 8> kClassNames = {{
    {"priority", ServiceClass::kUrgent},
    {"default", ServiceClass::kStandard},
    {"auto", ServiceClass::kStandard},
    {"flex", ServiceClass::kFlexible},
    {"batch", ServiceClass::kFlexible},
    {"critical", ServiceClass::kUrgent},
    {"standard", ServiceClass::kStandard},
    {"sheddable", ServiceClass::kFlexible},
}};

}  // namespace

const char* to_string(ServiceClass service_class) {
  switch (service_class) {
    case ServiceClass::kUrgent: return "priority";
    case ServiceClass::kStandard: return "default";
    case ServiceClass::kFlexible: return "flex";
  }
  return "default";
}

ServiceClass class_of(std::int32_t priority) {
  if (priority == 0) return ServiceClass::kStandard;
  return priority < 0 ? ServiceClass::kUrgent : ServiceClass::kFlexible;
}

std::int32_t priority_of(ServiceClass service_class) {
  return (static_cast<std::int32_t>(service_class) - 1) * kClassStep;
}

std::optional<ServiceClass> find_class(std::string_view name) {
  for (const auto& [known, service_class] : kClassNames) {
    if (known == name) return service_class;
  }
  return std::nullopt;
}

}  // namespace paternoster::api
