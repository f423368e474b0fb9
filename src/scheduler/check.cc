#include "scheduler/check.h"

#include <algorithm>

#include "scheduler/state.h"
#include "scheduler/tables.h"

namespace paternoster::scheduler {
namespace {

class Checker {
 public:
  explicit Checker(const State& state) : state_(state) {}

  std::optional<Violation> run() {
    check_blocks();
    check_content();
    check_reservations();
    check_places();
    check_groups();
    check_lengths();
    check_host();
    if (state_.in_flight) check_plan();
    return violation_;
  }

 private:
  void require(bool holds, int number, const char* what, std::uint64_t id) {
    if (holds || violation_) return;
    violation_ = Violation{number, std::string(what) + " (" + std::to_string(id) + ")"};
  }

  bool alive(const Sequence& sequence) const { return sequence.state != SequenceState::kFree; }

  // 1: used + cached + free = total, and a cached block has no reference and is in the index.
  // 2: a block's references are the tables it is in.
  void check_blocks() {
    const auto total = static_cast<std::size_t>(state_.pool.total());
    std::vector<std::int32_t> tables(total);
    for (const Sequence& sequence : state_.sequences) {
      for (const BlockId block : sequence.blocks) ++tables[block.value];
    }
    std::int32_t used = 0;
    std::int32_t cached = 0;
    for (std::uint32_t at = 0; at < total; ++at) {
      const BlockId block{at};
      require(state_.pool.references(block) == tables[at], 2, "references equal tables", at);
      used += state_.pool.references(block) > 0 ? 1 : 0;
      if (!state_.pool.is_cached(block)) continue;
      ++cached;
      require(state_.pool.references(block) == 0 && state_.config.limits.prefix_cache &&
                  state_.index.contains(block),
              1, "a cached block is unreferenced and indexed", at);
    }
    require(used == state_.pool.used() && cached == state_.pool.cached() &&
                used + cached + state_.pool.free() == state_.pool.total(),
            1, "blocks are conserved", total);
  }

  // 3: an indexed block in a table lies below `computed` and holds that table's tokens.
  void check_content() {
    if (!state_.config.limits.prefix_cache) return;
    const std::int32_t size = state_.config.limits.block_size;
    for (const Sequence& sequence : state_.sequences) {
      for (std::size_t at = 0; at < sequence.blocks.size(); ++at) {
        if (!state_.index.contains(sequence.blocks[at])) continue;
        const auto first = static_cast<std::int32_t>(at) * size;
        require(first + size <= sequence.computed, 3, "indexed blocks are computed",
                sequence.id.value);
        const auto tokens = state_.index.tokens(sequence.blocks[at]);
        for (std::int32_t offset = 0; offset < size && !violation_; ++offset) {
          require(tokens[offset] == token_at(state_, sequence, first + offset), 3,
                  "indexed blocks hold their table's tokens", sequence.id.value);
        }
      }
    }
  }

  // 4: promises are kept apart: their sum is known and available; whoever holds one has its worst
  // case.
  void check_reservations() {
    std::int32_t promised = 0;
    for (const Sequence& sequence : state_.sequences) {
      promised += sequence.reserved;
      require(sequence.reserved >= 0, 4, "a reservation is not negative", sequence.id.value);
      if (!sequence.holds_reservation) continue;
      require(sequence.reserved + static_cast<std::int32_t>(sequence.blocks.size()) ==
                  worst_blocks(state_, sequence),
              4, "table and reservation make the worst case", sequence.id.value);
    }
    require(promised == state_.reserved && promised <= state_.pool.available(), 4,
            "reserved blocks are available", static_cast<std::uint64_t>(promised));
  }

  // 5: at most max_seqs sequences run. 6: everyone alive is in exactly one place.
  void check_places() {
    require(state_.running.size() <= static_cast<std::size_t>(state_.config.limits.max_seqs), 5,
            "seats", state_.running.size());
    std::vector<int> runs(state_.sequences.size());
    for (const Slot slot : state_.running) ++runs[slot];
    std::size_t waiting = 0;
    std::int32_t parked = 0;
    for (Slot slot = 0; slot < state_.sequences.size(); ++slot) {
      const Sequence& sequence = state_.sequences[slot];
      const bool is_running = sequence.state == SequenceState::kRunning;
      const bool is_waiting = sequence.state == SequenceState::kWaiting;
      require(runs[slot] == (is_running ? 1 : 0), 6, "running once", sequence.id.value);
      require(state_.queue.contains(slot) == is_waiting, 6, "queued once", sequence.id.value);
      require(is_running || (sequence.blocks.empty() && sequence.computed == 0), 6,
              "only who runs holds blocks", sequence.id.value);
      waiting += is_waiting ? 1 : 0;
      parked += sequence.state == SequenceState::kParked ? 1 : 0;
    }
    require(waiting == state_.queue.size() && parked == state_.parked, 6, "counts of places",
            waiting);
  }

  // 7: a group counts its members, and who is parked has a sibling that computes the prompt.
  void check_groups() {
    std::vector<std::int32_t> alive(state_.groups.size());
    std::vector<std::int32_t> parked(state_.groups.size());
    for (const Sequence& sequence : state_.sequences) {
      if (!this->alive(sequence)) continue;
      ++alive[sequence.group];
      const bool is_parked = sequence.state == SequenceState::kParked;
      parked[sequence.group] += is_parked ? 1 : 0;
      const Slot worker = state_.groups[sequence.group].prefilling;
      require(!is_parked || worker != kNoSlot, 7, "parked for a sibling's prefill",
              sequence.id.value);
      if (worker == kNoSlot) continue;
      const Sequence& sibling = state_.sequences[worker];
      require(sibling.state == SequenceState::kRunning && sibling.group == sequence.group &&
                  sibling.computed < prompt_tokens(state_, sibling),
              7, "the prefilling sibling runs", sequence.id.value);
    }
    std::size_t live = 0;
    for (std::size_t at = 0; at < alive.size(); ++at) {
      if (alive[at] == 0) continue;
      ++live;
      require(alive[at] == state_.groups[at].alive && parked[at] == state_.groups[at].parked, 7,
              "a group counts its members", state_.groups[at].id.value);
    }
    require(live == state_.group_slots.size(), 7, "live groups are found by id", live);
  }

  // 8: nobody computes more than is known or samples more than was asked for.
  void check_lengths() {
    for (const Sequence& sequence : state_.sequences) {
      if (!alive(sequence)) continue;
      const Group& group = state_.groups[sequence.group];
      require(static_cast<std::int32_t>(sequence.output.size()) < horizon(state_, sequence), 8,
              "output stays below its limit while alive", sequence.id.value);
      require(sequence.told <= group.max_new &&
                  (sequence.told < group.max_new || sequence.ended != FinishReason::kNone),
              8, "nobody is told more than was asked for", sequence.id.value);
      const auto guessed = static_cast<std::int32_t>(sequence.guesses.draft.size());
      require(sequence.computed + sequence.scheduled <= known_tokens(state_, sequence) + guessed, 8,
              "computed tokens are known", sequence.id.value);
      require(known_tokens(state_, sequence) < state_.config.limits.max_len, 8, "max_len",
              sequence.id.value);
      require(static_cast<std::int32_t>(sequence.blocks.size()) >=
                  blocks_for(state_, sequence.computed + sequence.scheduled),
              8, "the table covers what is computed", sequence.id.value);
    }
  }

  // 22: a host block is free, leaving, or holds the KV of one sequence that waits.
  void check_host() {
    std::vector<int> holders(static_cast<std::size_t>(state_.host.total()));
    std::int32_t held = 0;
    for (const Sequence& sequence : state_.sequences) {
      for (const BlockId block : sequence.host) {
        ++held;
        require(++holders[block.value] == 1, 22, "one sequence a host block", sequence.id.value);
      }
      require(sequence.host.empty() ? sequence.host_tokens == 0
                                    : sequence.state == SequenceState::kWaiting ||
                                          sequence.state == SequenceState::kParked,
              22, "only who waits is in the host", sequence.id.value);
      require(static_cast<std::int32_t>(sequence.host.size()) ==
                  blocks_for(state_, sequence.host_tokens),
              22, "the host holds whole tables", sequence.id.value);
    }
    require(held == state_.host.used(), 22, "host blocks are conserved",
            static_cast<std::uint64_t>(held));
  }

  // 9: the step's budget holds, but for one whole prompt. Entries: check_entry.
  void check_plan() {
    const Plan& plan = state_.plan;
    const bool over_alone =
        state_.config.choices.prefill == Prefill::kWhole && plan.run.size() == 1;
    require(over_alone ||
                plan.tokens.size() <= static_cast<std::size_t>(state_.config.limits.step_tokens),
            9, "token budget", plan.tokens.size());
    require(!plan.run.empty(), 9, "a plan in flight is not empty", plan.step);
    for (std::size_t at = 0; at < plan.run.size() && !violation_; ++at) {
      const Sequence& sequence = state_.sequences[state_.plan_slots[at]];
      if (sequence.id == plan.run[at].sequence && alive(sequence))
        check_entry(plan.run[at], sequence);
    }
    for (const BlockCopy& copy : plan.copies) {
      require(copy.from != copy.to, 11, "a copy has two blocks", copy.to.value);
    }
  }

  // 10: an entry continues its sequence, with its tokens and table, and samples at its end.
  // 11: the blocks it writes are its own and not in the index.
  void check_entry(const RunEntry& entry, const Sequence& sequence) {
    const auto tokens = state_.plan.tokens_of(entry);
    const auto blocks = state_.plan.blocks_of(entry);
    const std::int32_t end = entry.first_position + static_cast<std::int32_t>(entry.known_count());
    const std::uint64_t id = entry.sequence.value;
    require(!tokens.empty() && entry.first_position == sequence.computed &&
                sequence.scheduled == static_cast<std::int32_t>(tokens.size()),
            10, "an entry continues its sequence", id);
    require(entry.samples == (end == known_tokens(state_, sequence)), 10, "samples at the end", id);
    require(std::ranges::equal(blocks, sequence.blocks), 10, "an entry has its table", id);
    for (std::size_t at = 0; at < tokens.size() && !violation_; ++at) {
      const std::int32_t position = entry.first_position + static_cast<std::int32_t>(at);
      require(at >= entry.known_count() || tokens[at] == token_at(state_, sequence, position), 10,
              "an entry has its tokens", id);
      const BlockId block =
          blocks[static_cast<std::size_t>(position / state_.config.limits.block_size)];
      require(state_.pool.references(block) == 1, 11, "written blocks are unshared", id);
      require(!state_.config.limits.prefix_cache || !state_.index.contains(block), 11,
              "written blocks are not indexed", id);
    }
    check_guesses(entry, sequence);
    // 12: who may be preempted by need has been so at most protect_after times.
    require(sequence.preemptions <= state_.config.limits.protect_after, 12, "protection", id);
  }

  // 23: only who decodes guesses, in steps of few sequences, and no more than it may still be told but
  // for one.
  void check_guesses(const RunEntry& entry, const Sequence& sequence) {
    if (entry.drafted == 0) return;
    const Config& config = state_.config;
    const auto drafted = static_cast<std::int32_t>(entry.drafted);
    const std::uint64_t id = entry.sequence.value;
    require(config.choices.speculation == Speculation::kNgram && drafted <= config.tuning.draft_tokens &&
                state_.plan.run.size() <= static_cast<std::size_t>(config.tuning.draft_seqs),
            23, "guesses within their limits", id);
    require(entry.samples && entry.known_count() == 1 && !sequence.output.empty(), 23,
            "only who decodes guesses", id);
    require(sequence.told + drafted < state_.groups[sequence.group].max_new, 23,
            "no guess after the end", id);
  }

  const State& state_;
  std::optional<Violation> violation_;
};

}  // namespace

std::optional<Violation> check(const Scheduler& scheduler) {
  return Checker(scheduler.state()).run();
}

}  // namespace paternoster::scheduler
