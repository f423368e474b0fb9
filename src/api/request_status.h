// How one call stands right now, and why it waits: what GET /debug/requests shows. Says nothing of what
// was asked or answered. Made by a backend, once for each call it has.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/standing.h"

namespace paternoster::api {

struct ChoiceStatus {
  std::int32_t choice = 0;
  const char* state = "waiting";  // waiting, preempted, prefill, decode, finished
  const char* reason = "";        // why it waits, a word of the scheduler's; static storage
  std::int32_t output = 0;        // tokens
};

struct RequestStatus {
  std::uint64_t call = 0;  // its number, which is not shown
  std::string request_id;
  Standing standing;
  std::int64_t age_ns = 0;                      // since it arrived
  std::optional<std::int64_t> deadline_in_ns;  // until its timeout
  std::int32_t prompt = 0;                      // tokens
  std::int32_t cached = 0;                      // of these, not computed anew
  std::int32_t max_output = 0;
  std::int32_t preemptions = 0;
  std::optional<std::int32_t> ahead;            // requests before it in the queue; none: it has boarded
  std::optional<std::int64_t> starts_in_ns;     // an estimate, while it is in the queue
  std::optional<std::int32_t> engine;           // which of several has it, or had it last
  std::vector<ChoiceStatus> choices;
};

// {"requests": [...]}: those of `owner`.
std::string requests_body(std::span<const RequestStatus> requests, const std::string& owner);

// A sentence for a person: what a reason of the scheduler's means.
const char* explain(const char* reason);

}  // namespace paternoster::api
