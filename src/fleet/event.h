// Every fact the world may learn from the fleet. Verbs return spans of events that stay valid until
// the next verb.
//
// Exactly one terminal event a request: kRefused (then it has no other), or kFinished. In between:
// kAccepted, (kSliceDone | kSliceLost)*. The token counts that they carry only grow.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "fleet/ids.h"

namespace paternoster::fleet {

enum class EventKind : std::uint8_t {
  kAccepted,   // it is in the pool
  kRefused,    // refusal
  kSliceDone,  // a slice ended, the request did not: back in the pool; batch, instance
  kSliceLost,  // its engine died or failed: back in the pool, with the output that was reported
  kFinished,   // over: finish; instance = where it last ran or its KV is kept
};

enum class Refusal : std::uint8_t {
  kNone,
  kInvalid,     // lengths or choices out of range
  kNeverFits,   // prompt and output need more memory than an engine has
  kQueueFull,   // max_queue requests are in the pool already
  kDraining,    // drain() was called
};

enum class FinishReason : std::uint8_t {
  kNone,
  kStop,       // the engine said so
  kLength,     // max_tokens
  kCancelled,  // cancel()
  kFailed,     // it lost more than max_failures slices
};

struct Event {
  std::int64_t at_ns = 0;  // the time given to the verb
  RequestId request;
  BatchId batch;           // the slice's; of kFinished: the last one it was in
  InstanceId instance;
  std::int32_t tokens = 0;  // output so far, all slices
  std::int32_t slices = 0;  // begun so far
  EventKind kind = EventKind::kAccepted;
  Refusal refusal = Refusal::kNone;
  FinishReason finish = FinishReason::kNone;
};

const char* to_string(EventKind kind);
const char* to_string(Refusal refusal);
const char* to_string(FinishReason reason);

}  // namespace paternoster::fleet
