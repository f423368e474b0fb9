// What can be chosen: limits (how much) and choices (which policy at which point). The choices are
// orthogonal; a preset (presets.h) is a row of them. Plain values; validate() before use.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace paternoster::scheduler {

enum class Boarding : std::uint8_t { kStatic, kContinuous };  // boarding/
enum class Order : std::uint8_t { kFcfs };                    // order/
enum class Prefill : std::uint8_t { kWhole, kChunked };       // prefill/
enum class Relief : std::uint8_t { kReserve, kRecompute };    // relief/

struct Choices {
  Boarding boarding = Boarding::kContinuous;
  Order order = Order::kFcfs;
  Prefill prefill = Prefill::kChunked;
  Relief relief = Relief::kRecompute;

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
  bool prefix_cache = true;

  friend bool operator==(const Limits&, const Limits&) = default;
};

struct Config {
  Choices choices;
  Limits limits;

  friend bool operator==(const Config&, const Config&) = default;
};

// One line that names the limit at fault and the range it must be in.
Result<void> validate(const Config& config);

const char* to_string(Boarding boarding);
const char* to_string(Order order);
const char* to_string(Prefill prefill);
const char* to_string(Relief relief);

}  // namespace paternoster::scheduler
