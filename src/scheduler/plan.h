// One iteration decided: which tokens of which sequences are computed, in which blocks, what is
// copied first, who lost the seat, and why everyone else waits. A plain struct of flat vectors
// whose capacity is used again each step; executors read it, nobody but the scheduler writes it.
//
// Invariants (check.h states them in full): entries are in admission order, positions of an entry
// are consecutive and start where the sequence's computed tokens end; an entry's block table covers
// all its positions; a block that this step writes belongs to one sequence alone; a plan is empty
// only if nobody could run. Then there is nothing to carry out; a commit without outcomes tells what
// planning had to tell (a deadline that passed).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "scheduler/event.h"

namespace paternoster::scheduler {

enum class WaitReason : std::uint8_t {
  kNone,            // it does not wait, or came after the last plan
  kNoBlocks,        // not enough free KV blocks
  kTokenBudget,     // this step's tokens are spent
  kSeatLimit,       // max_seqs sequences run
  kBatchClosed,     // static boarding: the batch on its way takes no one up
  kBehindEarlier,   // someone earlier in the order cannot board yet
  kSiblingPrefill,  // a sibling computes the prompt they will share
  kPreempted,       // gave up its seat in this very step
  kClass,           // order priority, multilevel: someone more urgent cannot board yet
  kShorterFirst,    // order shortest: someone with less to do cannot board yet
  kEarlierDeadline,  // order deadline: someone with an earlier one cannot board yet
  kTenantShare,      // order fair: the turn is another tenant's, or an earlier request's of its own
  kWindowOpen,       // boarding window: arrivals are still gathered
  kLatencyTarget,    // prefill latency_target: one stream more would make the gaps too long
};
inline constexpr std::size_t kWaitReasons = 14;

const char* to_string(WaitReason reason);

// One sequence's share of the step.
struct RunEntry {
  SequenceId sequence;
  RequestId request;
  std::int32_t choice = 0;
  std::int32_t first_position = 0;  // position in the sequence of its first token here
  std::uint32_t first_token = 0;    // range in Plan::tokens
  std::uint32_t token_count = 0;
  std::uint32_t drafted = 0;      // of these, the last ones: guesses of what is drawn (speculation)
  std::uint32_t first_block = 0;  // range in Plan::blocks: the table from position 0 on
  std::uint32_t block_count = 0;
  // A new token is drawn after its last token; with guesses, after the last token before them, and on
  // after each guess that was right.
  bool samples = false;

  std::uint32_t known_count() const { return token_count - drafted; }
};

// Before anything is computed, the whole content of `from` is copied to `to`: from the pool to the
// host (swap_out), from the host to the pool (swap_in) or within the pool (copies). All of swap_out
// come first, in their order, then all of swap_in, then the copies.
struct BlockCopy {
  BlockId from;
  BlockId to;
};

struct Admission {
  SequenceId sequence;
  std::int32_t cached_tokens = 0;
};

struct Preemption {
  SequenceId sequence;
  PreemptCause cause = PreemptCause::kBlocks;
};

struct Waiting {
  SequenceId sequence;
  RequestId request;
  WaitReason reason = WaitReason::kNone;
};

struct Plan {
  std::uint64_t step = 0;  // counts plans from 1
  std::vector<RunEntry> run;
  std::vector<TokenId> tokens;
  std::vector<BlockId> blocks;
  std::vector<BlockCopy> swap_out;
  std::vector<BlockCopy> swap_in;
  std::vector<BlockCopy> copies;
  std::vector<Admission> admitted;    // who boarded in this step
  std::vector<Preemption> preempted;  // who lost the seat in this step
  // Those whose reason is their own: running sequences that got no token, the first of the queue
  // and those preempted now. Everyone else in the queue waits for `queue_reason`; every parked
  // sequence for kSiblingPrefill. Scheduler::list_waiting spells all of them out.
  std::vector<Waiting> waiting;
  WaitReason queue_reason = WaitReason::kNone;
  // An empty plan although somebody waits (boarding window): plan again at this time at the latest.
  // 0: nothing happens without another verb.
  std::int64_t again_ns = 0;

  bool empty() const { return run.empty(); }
  std::span<const TokenId> tokens_of(const RunEntry& entry) const {
    return std::span(tokens).subspan(entry.first_token, entry.token_count);
  }
  std::span<const BlockId> blocks_of(const RunEntry& entry) const {
    return std::span(blocks).subspan(entry.first_block, entry.block_count);
  }
};

// A 64-bit digest of every decision in the plan, equal on every machine and compiler. O(plan).
std::uint64_t plan_hash(const Plan& plan);

}  // namespace paternoster::scheduler
