// Block tables: what a sequence holds, may take, shares and gives back. Internal to scheduler/.
//
// Invariants: the references of a block are the tables it is in; what is promised to sequences with
// a reservation is never more than what is available; a sequence writes only into blocks that it
// alone holds and that are not in the prefix index, because shared blocks are full ones below its
// `computed`.
#pragma once

#include <cstdint>
#include <span>

#include "scheduler/state.h"

namespace paternoster::scheduler {

// Output tokens after which the sequence's time aboard is over: this one's, or the next one's.
std::int32_t horizon(const State& state, const Sequence& sequence);

// Blocks in the table when that time is over.
std::int32_t worst_blocks(const State& state, const Sequence& sequence);

// Blocks that somebody without a reservation may take.
std::int32_t unpromised(const State& state);

// One block more at the end of the table, from the reservation if there is one. Whoever has none
// must have seen that unpromised() is positive.
void grow(State& state, Sequence& sequence);

// The longest start: the cached prefix, or a running sibling's prompt but for its last token.
void find_start(State& state, Sequence& sequence, const Sequence* sibling, Start& start);

// Tokens at the beginning of a request's prompt that the cache has now. O(prompt).
std::int32_t cached_tokens(const State& state, std::span<const TokenId> prompt,
                           std::uint64_t cache_namespace);

// Order deadline: when the request must begin at the latest, given what the cache has now.
std::int64_t latest_start_ns(const State& state, const Group& group);

// Copies what a running sequence has computed to the host, if there is room. It keeps its table until
// release_table. How many blocks; 0 without room.
std::int32_t swap_out(State& state, Sequence& sequence);

// What it has in the host goes into its table, beyond the first `from` blocks, or is given up.
std::int32_t swap_in(State& state, Sequence& sequence, std::size_t from);
void leave_host(State& state, Sequence& sequence);

// Takes what find_start found. The table must be empty.
void adopt(State& state, Sequence& sequence, const Start& start);

// Enters the full blocks computed since the last time into the prefix index.
void index_computed(State& state, Sequence& sequence);

// Gives back all blocks and the reservation, last block first, so that prefixes outlive their ends.
void release_table(State& state, Sequence& sequence);

}  // namespace paternoster::scheduler
