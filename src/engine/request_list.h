// How every call stands, for GET /debug/requests. Made between two steps, by the engine's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/request_status.h"
#include "engine/call_book.h"
#include "scheduler/scheduler.h"

namespace paternoster::engine {

// `wait_ns` estimates how long the one with so many before it will wait.
using EstimateWait = std::function<std::optional<std::int64_t>(std::int32_t ahead)>;

// What can be told of any call: all but its choices and its place in the queue.
api::RequestStatus common_status(const PreparedCall& prepared, const api::Usage& usage, std::int64_t now_ns);

// Requests that have no seat yet and come before one of this priority that arrives now. Under order
// priority those at least as urgent; under the other orders, which go by more than can be said in a
// number, all of them.
std::int32_t requests_ahead(const CallBook& calls, const scheduler::Scheduler& scheduler, std::int32_t priority);

// In the order in which they came; under order priority the more urgent first.
std::vector<api::RequestStatus> list_requests(const CallBook& calls, const scheduler::Scheduler& scheduler,
                                              std::int64_t now_ns, const EstimateWait& wait_ns);

// Behind those of the list: calls whose prompts are being read. One that is in both has arrived meanwhile.
void append_unread(std::vector<api::RequestStatus>& list, std::vector<api::RequestStatus>&& unread);

}  // namespace paternoster::engine
