// What can be chosen: limits (how much), choices (which policy at which point), tuning (the figures
// that single policies read) and the cost model (what a step takes). The choices are orthogonal; a
// preset (presets.h) is a row of them. Plain values; validate() before use.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "scheduler/cost_model.h"

namespace paternoster::scheduler {

enum class Boarding : std::uint8_t {  // boarding/
  kStatic,
  kContinuous,
  kStaticGlobal,
  kWindow,
  kSliced,
  kSlicedKeep,
};
enum class Order : std::uint8_t {  // order/
  kFcfs,
  kPriority,
  kShortest,
  kDeadline,
  kFair,
  kMultilevel,
};
enum class Prefill : std::uint8_t { kWhole, kChunked, kStallFree, kLatencyTarget };  // prefill/
enum class Relief : std::uint8_t { kReserve, kRecompute, kSwap, kAuto };             // relief/
enum class Victim : std::uint8_t { kLatest, kLeastWork };                            // relief/
enum class Speculation : std::uint8_t { kOff, kNgram };                              // speculation/

struct Choices {
  Boarding boarding = Boarding::kContinuous;
  Order order = Order::kFcfs;
  Prefill prefill = Prefill::kChunked;
  Relief relief = Relief::kRecompute;
  Victim victim = Victim::kLatest;
  Speculation speculation = Speculation::kOff;

  friend bool operator==(const Choices&, const Choices&) = default;
};

struct Limits {
  std::int32_t max_seqs = 32;      // seats: sequences that run at once
  std::int32_t step_tokens = 512;  // tokens computed in one step; at least max_seqs
  std::int32_t block_size = 16;    // tokens a block
  std::int32_t num_blocks = 512;   // blocks in the pool
  std::int32_t max_len = 8192;     // prompt and output together, a sequence
  std::int32_t max_queue = 256;    // requests that wait beyond the free seats
  std::int32_t max_choices = 128;  // sequences a request
  // Preemptions after which a sequence boards only with all it may need reserved.
  std::int32_t protect_after = 3;
  std::int32_t swap_blocks = 0;  // of host memory, for the KV of those who lost their seat
  bool prefix_cache = true;

  friend bool operator==(const Limits&, const Limits&) = default;
};

struct Tuning {
  std::int64_t window_ns = 50'000'000;  // window: how long the first of a unit may wait for others
  std::int32_t window_seqs = 0;         // window: sequences a unit; 0: as many as there are seats
  std::int32_t slice_tokens = 128;      // sliced: output tokens a batch
  // latency_target: the longest gap a running stream may see (a request may name its own).
  std::int64_t itl_target_ns = 100'000'000;
  // priority: how much later one class less urgent counts as having come.
  std::int64_t ageing_ns = 10'000'000'000;
  // shortest, deadline, multilevel: a wait after which nobody new is preferred.
  std::int64_t promotion_ns = 30'000'000'000;
  std::int64_t quantum_ns = 100'000'000;  // multilevel: of the highest level
  std::int32_t draft_tokens = 8;  // ngram: most guesses of a sequence in one step
  std::int32_t draft_seqs = 4;    // ngram: nobody guesses while more sequences have a seat
  // fair: what a token costs its tenant.
  std::int32_t prompt_charge = 10;
  std::int32_t cached_charge = 1;  // a prompt token that needs no computing
  std::int32_t output_charge = 20;

  friend bool operator==(const Tuning&, const Tuning&) = default;
};

struct Config {
  Choices choices{};
  Limits limits{};
  Tuning tuning{};
  CostModel cost{};

  friend bool operator==(const Config&, const Config&) = default;
};

// One line that names what is at fault and the range it must be in, or why choices do not go
// together.
Result<void> validate(const Config& config);

const char* to_string(Boarding boarding);
const char* to_string(Order order);
const char* to_string(Prefill prefill);
const char* to_string(Relief relief);
const char* to_string(Victim victim);
const char* to_string(Speculation speculation);

}  // namespace paternoster::scheduler
