// How far one choice of a request has come. A Sequence is the scheduler's own record (drivers see
// ids, plans and events); it lives in a slot that is used again, with its vectors' capacity, for
// the next.
//
// States and their legal edges:
//
//   kWaiting --boards--> kRunning --ends--> (slot free)
//      |  ^                 |
//      |  +-----preempted---+
//      +--parks--> kParked --a sibling has the prompt, or none computes it any more--> kWaiting
//
// and from every state --cancelled--> (slot free). `computed` only grows while running; preemption
// sets it to zero and keeps the output.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "scheduler/event.h"
#include "scheduler/order/rank.h"
#include "scheduler/speculation/guesses.h"

namespace paternoster::scheduler {

using Slot = std::uint32_t;
inline constexpr Slot kNoSlot = 0xFFFFFFFFu;

enum class SequenceState : std::uint8_t {
  kFree,     // the slot holds nobody
  kWaiting,  // in the waiting queue, new or preempted
  kParked,   // outside the queue until a sibling has computed the prompt they share
  kRunning,  // has a seat
};

struct Sequence {
  SequenceId id;
  Slot group = kNoSlot;
  std::int32_t choice = 0;
  SequenceState state = SequenceState::kFree;
  std::uint64_t turn = 0;      // of arrival; no two are equal
  order::Rank rank;            // when it joined the queue last (not under fair)
  std::uint32_t lane = 0;      // order fair: its tenant
  std::int32_t level = 0;      // order multilevel
  std::int64_t served_ns = 0;  // order multilevel: of its quantum, used
  bool promoted = false;       // order shortest: has waited its promotion_ns

  std::vector<TokenId> output;
  std::vector<BlockId> blocks;        // the block table: covers at least `computed` tokens
  std::vector<std::uint64_t> hashes;  // chained hash of each full block of prompt + output so far
  std::vector<std::uint64_t> nodes;   // prefix index node of each of the first blocks, verified
  std::vector<BlockId> host;          // while it waits: swapped out, in the order of the table
  std::int32_t host_tokens = 0;       // tokens whose keys and values are in `host`
  std::int32_t swapped = 0;           // blocks copied out and in so far
  std::int32_t computed = 0;          // tokens whose keys and values are in `blocks`
  std::int32_t scheduled = 0;         // tokens that the plan in flight computes, guesses included
  speculation::Guesses guesses;
  std::int32_t high_water = 0;        // most tokens ever computed: below it, work is done again
  std::int32_t reserved = 0;          // blocks set aside for this sequence, not yet in `blocks`
  std::int32_t horizon = 0;           // output tokens after which this time aboard is over; 0: unset
  std::int32_t told = 0;              // output tokens that the client has
  FinishReason ended = FinishReason::kNone;  // over for the client, though it is run on (boarding/)
  std::int32_t slices = 0;            // times it returned to the pool at a slice's end
  bool in_pool = false;               // since then it has not boarded
  std::int32_t recomputed = 0;        // tokens computed again so far
  std::int32_t preemptions = 0;       // that count towards protection (relief/)
  std::uint64_t preempted_in = 0;     // the step whose plan took its seat last
  bool holds_reservation = false;  // boarded with its worst case set aside: never preempted by need
  bool ever_boarded = false;
};

// A request while any of its sequences lives.
struct Group {
  RequestId id;
  std::vector<TokenId> prompt;
  std::vector<Slot> members;  // by choice; kNoSlot once ended
  std::uint64_t cache_namespace = 0;
  std::int64_t submitted_ns = 0;
  std::int64_t deadline_ns = 0;  // 0: none
  std::int64_t itl_target_ns = 0;  // 0: the server's
  std::int32_t priority = 0;
  std::int32_t expected = 0;  // new tokens a choice, as declared; 0: unknown
  std::int32_t max_new = 0;   // new tokens a choice may have: max_tokens cut by max_len
  std::int32_t alive = 0;    // members that have not ended
  std::int32_t parked = 0;
  Slot prefilling = kNoSlot;  // the running member that computes the prompt for all
  bool reads_prefix_cache = true;
  bool ever_boarded = false;
};

}  // namespace paternoster::scheduler
