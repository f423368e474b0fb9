#include "api/event.h"

namespace paternoster::api {

CallId call_of(const BackendEvent& event) {
  return std::visit([](const auto& fact) { return fact.call; }, event);
}

const char* to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kAbort: return "abort";
    case FinishReason::kError: return "error";
  }
  return "error";
}

}  // namespace paternoster::api
