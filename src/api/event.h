// What a backend tells about a call, in this order: Accepted, then Deltas, one Finished a choice, then
// Done; or Refused instead of whatever has not come yet. Done and Refused are terminal: exactly one of
// them ends each call, unless it was cancelled, after which events may stop anywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/error.h"
#include "base/ids.h"

namespace paternoster::api {

using CallId = Id<struct CallTag, std::uint64_t>;  // one Generation given to a backend

// The call is in the queue and will be served: from here on it has cost something, and a server may
// answer 200.
struct Accepted {
  CallId call;
  std::int32_t prompt_tokens = 0;
  std::vector<TokenId> prompt_token_ids;
  std::int32_t ahead = 0;         // requests before it in the queue
  std::int64_t starts_in_ns = -1;  // when it will board, estimated; -1: nothing is known yet
};

struct ScoredToken {
  TokenId token = -1;
  std::string bytes;  // what the token stands for; need not be whole characters
  std::optional<float> logprob;  // none: the first token of a prompt
};

struct TokenLogprobs {
  ScoredToken chosen;
  std::vector<ScoredToken> top;  // best first
};

// Text that is certain (whole characters, no part of a stop string) and the tokens of this step. Either
// may come without the other: text is held back until it is certain.
struct Delta {
  CallId call;
  std::int32_t choice = 0;
  bool prompt = false;  // the prompt itself, for `echo`
  std::string text;
  std::vector<TokenId> token_ids;
  std::vector<TokenLogprobs> logprobs;  // one a token, if asked for
};

enum class FinishReason : std::uint8_t { kStop, kLength, kAbort, kError };

// What ended a choice: nothing to name (end of text), a stop string, or a stop token.
using StopReason = std::variant<std::monostate, std::string, TokenId>;

struct Finished {
  CallId call;
  std::int32_t choice = 0;
  FinishReason reason = FinishReason::kStop;
  StopReason stop_reason;
};

struct Usage {
  std::int32_t prompt_tokens = 0;
  std::int32_t cached_tokens = 0;      // of the prompt, not computed anew
  std::int32_t completion_tokens = 0;  // all choices
};

// Durations of the call's life; zero if it did not get so far.
struct Timings {
  std::int64_t queue_ns = 0;    // accepted to first seat
  std::int64_t prefill_ns = 0;  // first seat to first token
  std::int64_t decode_ns = 0;   // first token to last
  std::int32_t ahead = 0;       // requests before it in the queue when it came
  // What it cost that KV was short, all choices together.
  std::int32_t preemptions = 0;
  std::int64_t recomputed_tokens = 0;
  std::int64_t swapped_bytes = 0;  // to the host and back
};

struct Done {
  CallId call;
  Usage usage;
  Timings timings;
};

struct Refused {
  CallId call;
  ApiError error;
};

using BackendEvent = std::variant<Accepted, Delta, Finished, Done, Refused>;

CallId call_of(const BackendEvent& event);
const char* to_string(FinishReason reason);

}  // namespace paternoster::api
