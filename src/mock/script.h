// One answer, planned when its request gets a seat: which bytes leave how long after, and how it ends.
// Pure: options and a request in, bytes and times out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/request.h"
#include "mock/options.h"

namespace paternoster::mock {

// Which answer it is: the k-th of the generating requests, from 1, and what it waited for a seat.
struct Turn {
  std::int64_t number = 1;
  std::int64_t queue_ns = 0;
  std::int64_t created_s = 0;
};

struct Departure {
  std::int64_t after_seat_ns = 0;
  std::int32_t tokens = 0;  // that these bytes carry
  std::string bytes;        // of the body, not yet framed
};

enum class Ending : std::uint8_t { kWhole, kCut, kSilent };

struct Script {
  std::int32_t prompt_tokens = 0;
  std::vector<Departure> departures;  // in order; the last one's time frees the seat
  Ending ending = Ending::kWhole;
};

const Fault* fault_of(const MockOptions& options, std::int64_t number);

// Why this request is not answered at all: it asks for what the mock does not do, or does not fit.
std::optional<api::ApiError> objection(const MockOptions& options, const api::Ask& ask);

Script write_script(const MockOptions& options, const api::Ask& ask, const Turn& turn);

}  // namespace paternoster::mock
