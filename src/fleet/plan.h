// What is sent to which engine now. A plain struct of flat vectors whose capacity is used again; the
// driver carries it out, nobody but the fleet writes it.
//
// Unlike an iteration's plan it need not be committed before the next: engines work at their own
// pace, and each batch is committed by itself. An engine runs the batches it is given one after the
// other, in the order of plans (one that batches continuously runs solo batches side by side).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "fleet/ids.h"

namespace paternoster::fleet {

// One request's share of a batch.
struct Member {
  RequestId request;
  std::int32_t input_tokens = 0;    // prompt and output so far: what the engine must know
  std::int32_t output_tokens = 0;   // of these, output so far
  std::int32_t most_tokens = 0;     // it may produce in this slice
  bool kept = false;                // its KV is on this engine: nothing to prefill
};

struct Batch {
  BatchId id;
  InstanceId instance;
  std::uint32_t first_member = 0;  // range in Plan::members
  std::uint32_t member_count = 0;
  std::int32_t padded_input = 0;   // the longest member's input
  std::int32_t iterations = 0;     // at most; over when all have stopped (early return)
  std::int64_t estimate_ns = 0;
};

// KV that an engine need not keep any longer.
struct Drop {
  RequestId request;
  InstanceId instance;
};

enum class WaitReason : std::uint8_t {
  kNone,        // the pool is empty
  kInterval,    // until next_ns
  kNoInstance,  // no engine takes work
  kAllBusy,     // every engine has a batch
  kNoMemory,    // KV that is kept leaves no room
};

struct Plan {
  std::uint64_t number = 0;  // counts plans from 1
  std::vector<Batch> batches;
  std::vector<Member> members;
  std::vector<Drop> drops;
  std::int32_t waiting = 0;              // requests left in the pool, all of them for `reason`
  WaitReason reason = WaitReason::kNone;
  // When to plan next although nothing has happened; kNever: only after another verb.
  static constexpr std::int64_t kNever = INT64_MAX;
  std::int64_t next_ns = kNever;

  bool empty() const { return batches.empty(); }
  std::span<const Member> members_of(const Batch& batch) const {
    return std::span(members).subspan(batch.first_member, batch.member_count);
  }
};

// A 64-bit digest of every decision, equal on every machine and compiler.
std::uint64_t plan_hash(const Plan& plan);

const char* to_string(WaitReason reason);

// What a batch came to. `members` in the plan's order, one for each that was not cancelled.
struct MemberResult {
  RequestId request;
  std::int32_t produced = 0;  // valid tokens of this slice
  bool stopped = false;       // end of text, stop string: the request is complete
};
struct SliceResult {
  BatchId batch;
  std::int32_t iterations = 0;  // that the engine ran
  std::vector<MemberResult> members;
};

}  // namespace paternoster::fleet
