// Every fact the world may learn from the scheduler, with its reason. Verbs return spans of events
// that stay valid until the next verb; drivers turn them into streams, metrics and feeds.
//
// Terminal events, exactly one each:
//   a request    kRefused (then it has no other event and no sequences), or kRequestFinished, which
//                follows the kFinished of its last sequence
//   a sequence   kFinished
// Order within a sequence: kAdmitted, (kToken | kPreempted ... kAdmitted)*, kFinished. A sequence
// that is cancelled or dropped while it waits has kFinished alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"

namespace paternoster::scheduler {

enum class EventKind : std::uint8_t {
  kAccepted,         // request; sequence = id of choice 0, the others follow it; count = choices
  kRefused,          // request; refusal
  kAdmitted,         // got a seat; count = tokens that need no computing (cache or sibling)
  kPreempted,        // lost its seat and blocks, waits again; count = computed tokens given up
  kToken,            // token; count = its index in the output, from 0
  kFinished,         // sequence over; finish; count = output tokens
  kRequestFinished,  // every sequence of the request is over
};

enum class Refusal : std::uint8_t {
  kNone,
  kInvalid,        // empty prompt, max_tokens or choices out of range
  kPromptTooLong,  // the prompt leaves no room for one token within max_len
  kNeverFits,      // one sequence may need more blocks than the pool has
  kQueueFull,      // max_queue requests wait already
  kDraining,       // drain() was called
  // The deadline has passed, or (order deadline) could not be met even alone.
  kDeadlineHopeless,
};
inline constexpr std::size_t kRefusals = 7;

enum class FinishReason : std::uint8_t {
  kNone,
  kStop,       // the executor said so: end token, stop string, constraint complete
  kLength,     // max_tokens, or the context is full
  kCancelled,  // cancel()
  // The deadline has passed; or (order deadline) it waited until it could not be met any more. In
  // the queue (count 0, never admitted), in prefill (count 0) or in decode.
  kDeadline,
};

enum class PreemptCause : std::uint8_t {
  kNone,
  kBlocks,  // KV blocks were short
  kClass,   // someone strictly more urgent took the seat or the blocks
  kForced,  // force_preempt()
  kSlice,   // boarding sliced: the slice is over, it returns to the pool
};

struct Event {
  std::int64_t at_ns = 0;  // the time given to the verb that caused it
  RequestId request;
  SequenceId sequence;
  std::int32_t choice = 0;
  std::int32_t count = 0;
  TokenId token = -1;
  EventKind kind = EventKind::kAccepted;
  Refusal refusal = Refusal::kNone;
  FinishReason finish = FinishReason::kNone;
  PreemptCause cause = PreemptCause::kNone;  // kPreempted
  std::int32_t recomputed_tokens = 0;        // kFinished: of this sequence, computed again
  // kPreempted: blocks copied to the host; kAdmitted: copied back; kFinished: both together.
  std::int32_t swapped_blocks = 0;
  bool resumed = false;  // kAdmitted: it was preempted before
  // kToken: nothing comes after it, though (boarding static_global) the end may be told later.
  bool last = false;
  bool forked = false;   // kAdmitted: shares a sibling's prompt rather than the cache's
};

const char* to_string(EventKind kind);
const char* to_string(Refusal refusal);
const char* to_string(FinishReason reason);
const char* to_string(PreemptCause cause);

}  // namespace paternoster::scheduler
