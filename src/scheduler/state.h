// All that the scheduler remembers, and the small moves that more than one verb makes. Internal to
// scheduler/ (check.h and tests read it). The files that work on it:
//
//   tables    block tables, reservations, the prefix index
//   life      boarding queue, preemption, ends
//   planner   plan(): the running pass, the boarding pass, the flat plan
//   scheduler the verbs
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/block_pool.h"
#include "scheduler/choices.h"
#include "scheduler/event.h"
#include "scheduler/flat_map.h"
#include "scheduler/host_area.h"
#include "scheduler/order/queue.h"
#include "scheduler/plan.h"
#include "scheduler/prefill/latency_target.h"
#include "scheduler/prefix_index.h"
#include "scheduler/scheduler.h"
#include "scheduler/sequence.h"

namespace paternoster::scheduler {

// What a sequence would start with if it boarded now.
struct Start {
  std::int32_t computed = 0;
  std::vector<BlockId> blocks;       // to share, from position 0 on
  std::vector<std::uint64_t> nodes;  // prefix index nodes of the first of them
  std::int32_t revived = 0;          // of `blocks`, now without a reference: they count as taken
  std::optional<BlockId> copy_from;  // a sibling's partly shared block, to be copied
  bool forked = false;
  bool swapped = false;  // the rest of `computed` comes from the host

  void clear();
};

struct State {
  explicit State(const Config& configuration)
      : config(configuration),
        pool(configuration.limits.num_blocks),
        host(configuration.limits.swap_blocks),
        index(configuration.limits.prefix_cache ? configuration.limits.num_blocks : 0,
              configuration.limits.block_size),
        queue(configuration.choices.order) {}

  Config config;
  BlockPool pool;
  HostArea host;
  std::vector<BlockCopy> leaving;  // to be copied to the host by the next plan that is carried out
  PrefixIndex index;
  std::int32_t reserved = 0;  // blocks promised to running sequences: the sum of Sequence::reserved

  std::vector<Sequence> sequences;  // slots
  std::vector<Slot> free_sequences;
  std::vector<Group> groups;
  std::vector<Slot> free_groups;
  FlatMap sequence_slots;  // id -> slot
  FlatMap group_slots;     // id -> slot
  std::uint64_t next_sequence = 1;
  std::uint64_t next_turn = 1;

  std::int64_t now_ns = 0;  // of the verb
  order::Queue queue;
  order::WaitingQueue promotions;  // of those who wait, by when they have waited promotion_ns
  order::WaitingQueue deadlines;   // of everyone with a deadline, by when it must be looked at
  std::vector<Slot> running;  // in admission order
  std::int32_t parked = 0;
  std::int32_t queued_requests = 0;

  Plan plan;
  std::int64_t planned_ns = 0;
  std::vector<Slot> plan_slots;  // of each entry of plan.run
  WaitReason head_reason = WaitReason::kNone;
  SequenceId head;  // whom head_reason is about
  std::int64_t window_from_ns = 0;  // boarding window: when the first of the next unit came
  std::int32_t longest_asked = 0;   // max_tokens of any request so far, cut by max_len
  // The first of the queue found too few blocks: it is not looked up again (O(prompt)) until
  // something has been released, or for a few steps (others may compute a prefix of it meanwhile).
  SequenceId blocked;
  std::uint64_t blocked_at_releases = 0;
  std::uint64_t blocked_until_step = 0;
  bool in_flight = false;
  bool draining = false;
  bool batch_forming = false;  // static boarding: the batch still takes sequences up
  bool alone_next = false;     // whole prefill: the first of the queue gets the next step to itself

  std::vector<Event> events;
  bool delivered = false;  // events were returned and go with the next verb
  Stats totals;            // the part of Stats that only grows, and waiting_by_reason
  Journal* journal = nullptr;
  std::vector<TokenId> block_tokens;  // scratch: the tokens of one block
  Start start;                        // scratch: of the one who tries to board
  std::vector<Slot> victims;          // scratch: whose seats it would take
  std::vector<Slot> prompts;          // scratch: running, with more than a token to compute
  std::vector<prefill::LatencyTarget::Share> shares;  // scratch: of the step, by prompt
};

inline std::int32_t known_tokens(const State& state, const Sequence& sequence) {
  return static_cast<std::int32_t>(state.groups[sequence.group].prompt.size() +
                                   sequence.output.size());
}

inline std::int32_t prompt_tokens(const State& state, const Sequence& sequence) {
  return static_cast<std::int32_t>(state.groups[sequence.group].prompt.size());
}

inline std::int32_t blocks_for(const State& state, std::int32_t tokens) {
  return (tokens + state.config.limits.block_size - 1) / state.config.limits.block_size;
}

inline TokenId token_at(const State& state, const Sequence& sequence, std::int32_t position) {
  const auto& prompt = state.groups[sequence.group].prompt;
  const auto at = static_cast<std::size_t>(position);
  return at < prompt.size() ? prompt[at] : sequence.output[at - prompt.size()];
}

}  // namespace paternoster::scheduler
