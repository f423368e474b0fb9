#include "scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "scheduler/boarding/boarding.h"
#include "scheduler/journal.h"
#include "scheduler/life.h"
#include "scheduler/planner.h"
#include "scheduler/state.h"
#include "scheduler/tables.h"

namespace paternoster::scheduler {
namespace {

std::span<const Event> deliver(State& state) {
  state.delivered = true;
  return state.events;
}

Refusal refusal_of(const State& state, const Request& request) {
  const Limits& limits = state.config.limits;
  if (state.draining) return Refusal::kDraining;
  if (request.prompt.empty() || request.max_tokens < 1 || request.choices < 1 ||
      request.choices > limits.max_choices) {
    return Refusal::kInvalid;
  }
  const auto prompt = static_cast<std::int64_t>(request.prompt.size());
  if (prompt >= limits.max_len) return Refusal::kPromptTooLong;
  if (Scheduler::worst_blocks(limits, prompt, request.max_tokens) > limits.num_blocks) {
    return Refusal::kNeverFits;
  }
  // Only what never had a seat counts: preempted work keeps its place whatever the queue.
  const std::int32_t seats =
      boarding::open_seats(state.config.choices.boarding,
                           static_cast<std::int32_t>(state.running.size()), limits.max_seqs);
  if (state.queued_requests >= std::int64_t{limits.max_queue} + seats) return Refusal::kQueueFull;
  return Refusal::kNone;
}

template <typename T>
Slot new_slot(std::vector<T>& slots, std::vector<Slot>& unused) {
  if (unused.empty()) {
    slots.emplace_back();
    return static_cast<Slot>(slots.size() - 1);
  }
  const Slot slot = unused.back();
  unused.pop_back();
  return slot;
}

Slot new_sequence(State& state, Slot group, std::int32_t choice) {
  const Slot slot = new_slot(state.sequences, state.free_sequences);
  Sequence& sequence = state.sequences[slot];
  sequence.id = SequenceId{state.next_sequence++};
  sequence.group = group;
  sequence.choice = choice;
  sequence.output.clear();
  sequence.hashes.clear();
  sequence.high_water = 0;
  sequence.preemptions = 0;
  sequence.preempted_in = 0;
  sequence.ever_boarded = false;
  state.sequence_slots.put(sequence.id.value, slot);
  return slot;
}

void accept(State& state, std::int64_t now_ns, Request request) {
  const Slot slot = new_slot(state.groups, state.free_groups);
  Group& group = state.groups[slot];
  const auto prompt = static_cast<std::int32_t>(request.prompt.size());
  group.id = request.id;
  group.prompt = std::move(request.prompt);
  group.cache_namespace = request.cache_namespace;
  group.max_new = std::min(request.max_tokens, state.config.limits.max_len - prompt);
  group.alive = request.choices;
  group.parked = 0;
  group.prefilling = kNoSlot;
  group.reads_prefix_cache = request.reads_prefix_cache;
  group.ever_boarded = false;
  group.members.clear();
  state.group_slots.put(group.id.value, slot);
  ++state.queued_requests;
  ++state.totals.requests_accepted;

  Event& event = emit(state, now_ns, EventKind::kAccepted, group.id);
  event.sequence = SequenceId{state.next_sequence};
  event.count = request.choices;
  for (std::int32_t choice = 0; choice < request.choices; ++choice) {
    const Slot member = new_sequence(state, slot, choice);
    group.members.push_back(member);
    enqueue(state, member);
  }
}

// What one entry of the plan came to. `outcome` is null if it did not sample.
void commit_entry(State& state, std::int64_t now_ns, Slot slot, const RunEntry& entry,
                  const Outcome* outcome) {
  Sequence& sequence = state.sequences[slot];
  if (sequence.state != SequenceState::kRunning || sequence.id != entry.sequence)
    return;  // cancelled
  sequence.computed += sequence.scheduled;
  sequence.scheduled = 0;
  sequence.high_water = std::max(sequence.high_water, sequence.computed);
  index_computed(state, sequence);
  if (sequence.computed >= prompt_tokens(state, sequence)) end_prefill(state, slot);
  if (outcome == nullptr) return;

  Event& event = emit(state, now_ns, EventKind::kToken, sequence);
  event.token = outcome->token;
  event.count = static_cast<std::int32_t>(sequence.output.size());
  sequence.output.push_back(outcome->token);
  ++state.totals.tokens_sampled;
  if (outcome->stop) {
    finish(state, now_ns, slot, FinishReason::kStop);
  } else if (static_cast<std::int32_t>(sequence.output.size()) >=
             state.groups[sequence.group].max_new) {
    finish(state, now_ns, slot, FinishReason::kLength);
  }
}

}  // namespace

Result<Scheduler> Scheduler::create(const Config& config) {
  if (auto valid = validate(config); !valid) return std::unexpected(std::move(valid).error());
  return Scheduler(config);
}

Scheduler::Scheduler(const Config& config) : state_(std::make_unique<State>(config)) {}
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;
Scheduler::~Scheduler() = default;

std::span<const Event> Scheduler::submit(std::int64_t now_ns, Request request) {
  State& state = *state_;
  PATERNOSTER_CHECK(!live(request.id));
  begin_verb(state);
  if (state.journal != nullptr) state.journal->submit(now_ns, request);
  if (const Refusal refusal = refusal_of(state, request); refusal != Refusal::kNone) {
    emit(state, now_ns, EventKind::kRefused, request.id).refusal = refusal;
    ++state.totals.requests_refused;
  } else {
    accept(state, now_ns, std::move(request));
  }
  return deliver(state);
}

std::span<const Event> Scheduler::cancel(std::int64_t now_ns, RequestId request) {
  State& state = *state_;
  begin_verb(state);
  if (state.journal != nullptr) state.journal->cancel(now_ns, request);
  if (const Slot* group = state.group_slots.find(request.value)) {
    // The group's slot is freed with its last member; its vector of members is not touched by that.
    const Slot group_slot = *group;
    for (std::size_t choice = 0; choice < state.groups[group_slot].members.size(); ++choice) {
      const Slot member = state.groups[group_slot].members[choice];
      if (member != kNoSlot) finish(state, now_ns, member, FinishReason::kCancelled);
    }
    drop_departed(state);
  }
  return deliver(state);
}

const Plan& Scheduler::plan(std::int64_t now_ns) {
  State& state = *state_;
  PATERNOSTER_CHECK(!state.in_flight);
  begin_verb(state);
  Planner(state, now_ns).run();
  ++state.totals.steps;
  if (state.journal != nullptr) state.journal->plan(now_ns, state.plan);
  return state.plan;
}

std::span<const Event> Scheduler::commit(std::int64_t now_ns, const StepResult& result) {
  State& state = *state_;
  PATERNOSTER_CHECK(state.in_flight || (state.plan.empty() && result.outcomes.empty()));
  begin_verb(state);
  if (state.journal != nullptr) state.journal->commit(now_ns, result);
  state.in_flight = false;
  std::size_t next = 0;
  for (std::size_t at = 0; at < state.plan.run.size(); ++at) {
    const RunEntry& entry = state.plan.run[at];
    const Outcome* outcome = nullptr;
    if (entry.samples) {
      PATERNOSTER_CHECK(next < result.outcomes.size() &&
                        result.outcomes[next].sequence == entry.sequence);
      outcome = &result.outcomes[next++];
    }
    commit_entry(state, now_ns, state.plan_slots[at], entry, outcome);
  }
  PATERNOSTER_CHECK(next == result.outcomes.size());
  drop_departed(state);
  return deliver(state);
}

void Scheduler::drain() {
  begin_verb(*state_);
  if (state_->journal != nullptr) state_->journal->drain();
  state_->draining = true;
}

bool Scheduler::force_preempt(std::int64_t now_ns, SequenceId sequence) {
  State& state = *state_;
  PATERNOSTER_CHECK(!state.in_flight);
  begin_verb(state);
  if (state.journal != nullptr) state.journal->force_preempt(now_ns, sequence);
  const Slot* slot = state.sequence_slots.find(sequence.value);
  if (slot == nullptr || state.sequences[*slot].state != SequenceState::kRunning) return false;
  preempt(state, now_ns, *slot);
  drop_departed(state);
  return true;
}

void Scheduler::record_to(Journal* journal) {
  PATERNOSTER_CHECK(journal == nullptr || (state_->next_sequence == 1 && state_->plan.step == 0));
  state_->journal = journal;
  if (journal != nullptr) journal->begin(state_->config);
}

}  // namespace paternoster::scheduler
