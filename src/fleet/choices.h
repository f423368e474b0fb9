// What can be chosen of a fleet: limits (how much), choices (which policy at which point), and what
// is known of its engines. The choices are orthogonal; a preset (presets.h) is a row of them. Plain
// values; validate() before use.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "base/result.h"
#include "fleet/estimator.h"

namespace paternoster::fleet {

// How the pool is cut into batches (batcher.h).
enum class Batching : std::uint8_t {
  kSolo,      // every request by itself: the engine behind batches continuously
  kFixed,     // as many as max_batch, in order of arrival
  kSorted,    // the same, sorted by length first: less padding
  kAdaptive,  // SCLS: the cheapest cut of the sorted pool, by dynamic programming
};

// Which engine a batch goes to (placement/).
enum class Placement : std::uint8_t { kRoundRobin, kLeastLoaded, kPrefixAware, kMaxMin };

// When the pool is emptied (interval.h).
enum class Dispatch : std::uint8_t {
  kAtOnce,
  kInterval,          // every interval_ns
  kAdaptiveInterval,  // SCLS: by the load of the least loaded engine
  kWhenIdle,          // one batch to each engine that has none
};

// What becomes of a request's keys and values between two of its slices.
enum class Between : std::uint8_t {
  kRecompute,  // dropped, and computed again on whichever engine comes next, as SCLS does
  kKeep,       // kept where they are: the next slice runs there, unless memory is short
};

struct Choices {
  Batching batching = Batching::kSolo;
  Placement placement = Placement::kLeastLoaded;
  Dispatch dispatch = Dispatch::kAtOnce;
  Between between = Between::kRecompute;

  friend bool operator==(const Choices&, const Choices&) = default;
};

// A slice that never ends before its request does.
inline constexpr std::int32_t kWholeRequest = std::numeric_limits<std::int32_t>::max();

struct Limits {
  std::int32_t instances = 1;
  std::int32_t slice_tokens = kWholeRequest;  // S: iterations a slice
  std::int32_t max_batch = 12;                // sequences a batch
  std::int32_t max_queue = 1 << 20;           // requests in the pool that never ran
  std::int32_t max_failures = 3;              // slices that a request may lose; one more ends it
  std::int64_t interval_ns = 3'000'000'000;   // the interval, or the least of the adaptive one (Gamma)
  std::int32_t interval_load_permille = 500;  // lambda: of the least load, waited before the next tick
  // An engine that knows a prefix is preferred up to so much above the average load.
  std::int32_t prefix_slack_permille = 250;
  std::int32_t known_prefixes = 1 << 14;      // remembered for each engine
  std::int32_t expected_tokens = 128;         // output of a whole request before any has been seen

  friend bool operator==(const Limits&, const Limits&) = default;
};

struct Config {
  Choices choices;
  Limits limits;
  TimeModel time;      // every engine's: the fleet is made of equals
  MemoryModel memory;  // every engine's

  friend bool operator==(const Config&, const Config&) = default;
};

// One line that names the limit or the combination at fault.
Result<void> validate(const Config& config);

const char* to_string(Batching batching);
const char* to_string(Placement placement);
const char* to_string(Dispatch dispatch);
const char* to_string(Between between);

// By the words that to_string gives; the error lists them.
Result<Placement> placement_of(std::string_view word);

}  // namespace paternoster::fleet
