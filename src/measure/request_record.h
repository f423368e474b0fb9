// What became of one request, as times and counts: made by the load generator (from what a client
// saw) and by the simulator (from the scheduler's events), read by every report. Times are
// nanoseconds on one clock that starts with the run; -1: it never happened.
//
// Invariant: scheduled <= sent <= first token <= last token <= ended, as far as they happened.
// Latencies count from `scheduled_ns`, when the request was meant to be sent: a generator that falls
// behind must not flatter the server.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paternoster::measure {

enum class Status : std::uint8_t {
  kCompleted,
  kRefused,    // turned away at once: queue full, never fits, draining
  kFailed,     // an error, a broken connection, an answer that cannot be read
  kTimedOut,
  kCancelled,  // by the client, on purpose
};

const char* to_string(Status status);

// Tokens that came together: a chunk of a stream, or one token.
struct TokenArrival {
  std::int64_t at_ns = 0;
  std::int32_t tokens = 1;
};

struct RequestRecord {
  std::uint64_t id = 0;
  std::string class_name;  // priority class; empty: the only one
  std::string tenant;
  Status status = Status::kCompleted;
  std::string error;  // one line, if it did not complete

  std::int64_t scheduled_ns = 0;
  std::int64_t sent_ns = -1;
  std::int64_t admitted_ns = -1;  // first got a seat; only a simulator and a server's own timings know
  std::int64_t first_token_ns = -1;
  std::int64_t last_token_ns = -1;
  std::int64_t ended_ns = -1;

  std::int32_t input_tokens = 0;
  std::int32_t cached_tokens = 0;  // of these, found in a cache at first
  std::int32_t output_tokens = 0;
  std::int32_t preemptions = 0;
  std::int32_t instance = -1;      // of a fleet
  std::int64_t largest_gap_ns = 0;  // between arrivals

  // Each arrival in order, if the maker keeps them (a load generator does; a simulator of a million
  // requests feeds gaps to the summary directly).
  std::vector<TokenArrival> arrivals;

  bool completed() const { return status == Status::kCompleted; }
  // Defined for completed requests only.
  std::int64_t ttft_ns() const { return first_token_ns - scheduled_ns; }
  std::int64_t e2e_ns() const { return last_token_ns - scheduled_ns; }
  // Time per output token after the first, vLLM's TPOT; only for output_tokens > 1.
  double tpot_ns() const {
    return static_cast<double>(last_token_ns - first_token_ns) / (output_tokens - 1);
  }
  std::int64_t lateness_ns() const { return sent_ns - scheduled_ns; }
};

}  // namespace paternoster::measure
