#include "scheduler/scheduler.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "scheduler/boarding/boarding.h"
#include "scheduler/journal.h"
#include "scheduler/life.h"
#include "scheduler/order/order.h"
#include "scheduler/planner.h"
#include "scheduler/state.h"
#include "scheduler/tables.h"

namespace paternoster::scheduler {
namespace {

std::span<const Event> deliver(State& state) {
  state.delivered = true;
  return state.events;
}

// The deadline has passed; or, where the order goes by deadlines, cannot be met even alone.
bool is_hopeless(const State& state, const Request& request) {
  if (request.deadline_ns == 0) return false;
  if (request.deadline_ns <= state.now_ns) return true;
  if (state.config.choices.order != Order::kDeadline) return false;
  const auto prompt = static_cast<std::int64_t>(request.prompt.size());
  const auto starts_too_late = [&](std::int64_t cached) {
    return order::Deadline::latest_start_ns(state.config.cost, request.deadline_ns, prompt, cached,
                                            request.expected_tokens) < state.now_ns;
  };
  if (!starts_too_late(0)) return false;
  return !request.reads_prefix_cache ||
         starts_too_late(cached_tokens(state, request.prompt, request.cache_namespace));
}

Refusal refusal_of(const State& state, const Request& request) {
  const Limits& limits = state.config.limits;
  if (state.draining) return Refusal::kDraining;
  if (request.prompt.empty() || request.max_tokens < 1 || request.choices < 1 ||
      request.choices > limits.max_choices || request.expected_tokens < 0 ||
      request.itl_target_ns < 0) {
    return Refusal::kInvalid;
  }
  const auto prompt = static_cast<std::int64_t>(request.prompt.size());
  if (prompt >= limits.max_len) return Refusal::kPromptTooLong;
  if (Scheduler::worst_blocks(limits, prompt, request.max_tokens) > limits.num_blocks) {
    return Refusal::kNeverFits;
  }
  // Only what never had a seat counts: preempted work keeps its place whatever the queue.
  const std::int32_t seats =
      boarding::open_seats(state.config, static_cast<std::int32_t>(state.running.size()));
  if (state.queued_requests >= std::int64_t{limits.max_queue} + seats) return Refusal::kQueueFull;
  return is_hopeless(state, request) ? Refusal::kDeadlineHopeless : Refusal::kNone;
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
  sequence.turn = state.next_turn++;
  sequence.group = group;
  sequence.choice = choice;
  sequence.output.clear();
  sequence.hashes.clear();
  sequence.guesses.clear();
  sequence.high_water = 0;
  sequence.preemptions = 0;
  sequence.preempted_in = 0;
  sequence.recomputed = sequence.swapped = 0;
  sequence.horizon = sequence.told = sequence.slices = 0;
  sequence.ended = FinishReason::kNone;
  sequence.in_pool = false;
  sequence.promoted = false;
  sequence.ever_boarded = false;
  state.sequence_slots.put(sequence.id.value, slot);
  return slot;
}

// A new sequence enters the order.
void join(State& state, Slot slot, TenantId tenant) {
  Sequence& sequence = state.sequences[slot];
  const Group& group = state.groups[sequence.group];
  if (state.queue.by_tenant()) sequence.lane = state.queue.fair().enter(tenant);
  if (state.config.choices.order == Order::kMultilevel) join_level(state, sequence);
  if (group.deadline_ns != 0) {
    const bool by_deadline = state.config.choices.order == Order::kDeadline;
    const std::int64_t due_ns = by_deadline ? latest_start_ns(state, group) : group.deadline_ns;
    state.deadlines.push(slot, {due_ns, sequence.turn});
  }
  enqueue(state, slot);
}

void accept(State& state, Request request) {
  const Slot slot = new_slot(state.groups, state.free_groups);
  Group& group = state.groups[slot];
  const auto prompt = static_cast<std::int32_t>(request.prompt.size());
  group.id = request.id;
  group.prompt = std::move(request.prompt);
  group.cache_namespace = request.cache_namespace;
  group.submitted_ns = state.now_ns;
  group.deadline_ns = request.deadline_ns;
  group.itl_target_ns = request.itl_target_ns;
  group.priority = request.priority;
  group.max_new = std::min(request.max_tokens, state.config.limits.max_len - prompt);
  group.expected = std::min(request.expected_tokens, group.max_new);
  group.alive = request.choices;
  group.parked = 0;
  group.prefilling = kNoSlot;
  group.reads_prefix_cache = request.reads_prefix_cache;
  group.ever_boarded = false;
  group.members.clear();
  state.group_slots.put(group.id.value, slot);
  if (state.queued_requests++ == 0) state.window_from_ns = state.now_ns;
  state.longest_asked = std::max(state.longest_asked, group.max_new);
  ++state.totals.requests_accepted;

  Event& event = emit(state, EventKind::kAccepted, group.id);
  event.sequence = SequenceId{state.next_sequence};
  event.count = request.choices;
  for (std::int32_t choice = 0; choice < request.choices; ++choice) {
    const Slot member = new_sequence(state, slot, choice);
    group.members.push_back(member);
    join(state, member, request.tenant);
  }
}

// The order's books: the step's time, once a step, and each token drawn.
void serve_step(State& state, Sequence& sequence) {
  if (state.config.choices.order != Order::kMultilevel) return;
  const std::int64_t step_ns = saturating_subtract(state.now_ns, state.planned_ns);
  order::Multilevel::served(state.config.tuning, sequence, std::max<std::int64_t>(step_ns, 0));
}
void serve_token(State& state, Sequence& sequence) {
  if (!state.queue.by_tenant()) return;
  state.queue.fair().charge(sequence.lane, state.config.tuning.output_charge);
}

// A token was drawn: it is told, unless the sequence is over for its client; and then perhaps its
// time aboard is over.
void draw(State& state, Slot slot, const Outcome& outcome) {
  Sequence& sequence = state.sequences[slot];
  sequence.output.push_back(outcome.token);
  ++state.totals.tokens_sampled;
  if (sequence.ended == FinishReason::kNone) {
    Event& event = emit(state, EventKind::kToken, sequence);
    event.token = outcome.token;
    event.count = sequence.told++;
    const bool at_limit = sequence.told >= state.groups[sequence.group].max_new;
    sequence.ended = outcome.stop ? FinishReason::kStop
                     : at_limit   ? FinishReason::kLength
                                  : FinishReason::kNone;
    event.last = sequence.ended != FinishReason::kNone;
  } else {
    ++state.totals.tokens_invalid;
  }
  const bool is_over = static_cast<std::int32_t>(sequence.output.size()) >= sequence.horizon;
  const bool runs_on = state.config.choices.boarding == Boarding::kStaticGlobal;
  if (sequence.ended != FinishReason::kNone && (is_over || !runs_on)) {
    finish(state, slot, sequence.ended);
  } else if (is_over) {
    preempt(state, slot, PreemptCause::kSlice);
  }
}

bool rides(const Sequence& sequence, const RunEntry& entry) {
  return sequence.state == SequenceState::kRunning && sequence.id == entry.sequence;
}

void compute(State& state, Slot slot, std::int32_t tokens) {
  Sequence& sequence = state.sequences[slot];
  sequence.computed += tokens;
  sequence.high_water = std::max(sequence.high_water, sequence.computed);
  index_computed(state, sequence);
}

// What one entry of the plan came to. `outcomes` is empty if it did not sample. Tokens that were guessed
// right are booked one by one, as if each had had a step; what was computed for the others is forgotten:
// `computed` ends before it, so the next step writes its own over it.
void commit_entry(State& state, Slot slot, const RunEntry& entry, std::span<const Outcome> outcomes) {
  Sequence& sequence = state.sequences[slot];
  if (!rides(sequence, entry)) return;  // cancelled
  for (std::size_t at = 0; at < outcomes.size(); ++at) sequence.guesses.judge(at, outcomes[at].token);
  sequence.guesses.drop();
  sequence.scheduled = 0;
  compute(state, slot, static_cast<std::int32_t>(entry.known_count()));
  if (sequence.computed >= prompt_tokens(state, sequence)) end_prefill(state, slot);
  serve_step(state, sequence);
  for (std::size_t at = 0; at < outcomes.size(); ++at) {
    if (at > 0) {
      compute(state, slot, 1);
      ++state.totals.tokens_accepted;
    }
    serve_token(state, sequence);
    draw(state, slot, outcomes[at]);
    if (outcomes[at].stop || !rides(sequence, entry)) return;
  }
}

// Of the outcomes from `from` on, those of this entry: its draws as far as its guesses were right.
std::span<const Outcome> outcomes_of(const Plan& plan, const RunEntry& entry, const StepResult& result,
                                     std::size_t from) {
  if (!entry.samples) return {};
  const std::span<const TokenId> guesses = plan.tokens_of(entry).last(entry.drafted);
  std::size_t count = 0;
  while (from + count < result.outcomes.size() && result.outcomes[from + count].sequence == entry.sequence) {
    PATERNOSTER_CHECK(count == 0 || (count <= guesses.size() &&
                                     result.outcomes[from + count - 1].token == guesses[count - 1]));
    ++count;
  }
  PATERNOSTER_CHECK(count > 0);
  return std::span(result.outcomes).subspan(from, count);
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
  begin_verb(state, now_ns);
  if (state.journal != nullptr) state.journal->submit(now_ns, request);
  if (const Refusal refusal = refusal_of(state, request); refusal != Refusal::kNone) {
    emit(state, EventKind::kRefused, request.id).refusal = refusal;
    ++state.totals.requests_refused;
  } else {
    accept(state, std::move(request));
  }
  return deliver(state);
}

std::span<const Event> Scheduler::cancel(std::int64_t now_ns, RequestId request) {
  State& state = *state_;
  begin_verb(state, now_ns);
  if (state.journal != nullptr) state.journal->cancel(now_ns, request);
  if (const Slot* group = state.group_slots.find(request.value)) {
    // The group's slot is freed with its last member; its vector of members is not touched by that.
    const Slot group_slot = *group;
    for (std::size_t choice = 0; choice < state.groups[group_slot].members.size(); ++choice) {
      const Slot member = state.groups[group_slot].members[choice];
      if (member != kNoSlot) finish(state, member, FinishReason::kCancelled);
    }
    drop_departed(state);
  }
  return deliver(state);
}

const Plan& Scheduler::plan(std::int64_t now_ns) {
  State& state = *state_;
  PATERNOSTER_CHECK(!state.in_flight);
  begin_verb(state, now_ns);
  state.planned_ns = now_ns;
  Planner(state, now_ns).run();
  ++state.totals.steps;
  if (state.journal != nullptr) state.journal->plan(now_ns, state.plan);
  return state.plan;
}

std::span<const Event> Scheduler::commit(std::int64_t now_ns, const StepResult& result) {
  State& state = *state_;
  PATERNOSTER_CHECK(state.in_flight || (state.plan.empty() && result.outcomes.empty()));
  begin_verb(state, now_ns);
  if (state.journal != nullptr) state.journal->commit(now_ns, result);
  state.in_flight = false;
  std::size_t next = 0;
  for (std::size_t at = 0; at < state.plan.run.size(); ++at) {
    const RunEntry& entry = state.plan.run[at];
    const std::span<const Outcome> outcomes = outcomes_of(state.plan, entry, result, next);
    next += outcomes.size();
    commit_entry(state, state.plan_slots[at], entry, outcomes);
  }
  PATERNOSTER_CHECK(next == result.outcomes.size());
  drop_departed(state);
  return deliver(state);
}

void Scheduler::drain() {
  begin_verb(*state_, state_->now_ns);
  if (state_->journal != nullptr) state_->journal->drain();
  state_->draining = true;
}

bool Scheduler::force_preempt(std::int64_t now_ns, SequenceId sequence) {
  State& state = *state_;
  PATERNOSTER_CHECK(!state.in_flight);
  begin_verb(state, now_ns);
  if (state.journal != nullptr) state.journal->force_preempt(now_ns, sequence);
  const Slot* slot = state.sequence_slots.find(sequence.value);
  if (slot == nullptr || state.sequences[*slot].state != SequenceState::kRunning) return false;
  preempt(state, *slot, PreemptCause::kForced);
  drop_departed(state);
  return true;
}

Result<void> Scheduler::calibrate(std::int64_t now_ns, const CostModel& cost) {
  State& state = *state_;
  if (auto valid = validate(cost); !valid) return valid;
  begin_verb(state, now_ns);
  if (state.journal != nullptr) state.journal->calibrate(now_ns, cost);
  state.config.cost = cost;
  return {};
}

Result<void> Scheduler::set_weight(std::int64_t now_ns, TenantId tenant, std::int32_t weight) {
  State& state = *state_;
  if (weight < 1 || weight > order::Fair::kMostWeight) {
    return failure(ErrorCode::kInvalidArgument,
                   "a tenant's weight is " + std::to_string(weight) + ", must be from 1 to " +
                       std::to_string(order::Fair::kMostWeight));
  }
  begin_verb(state, now_ns);
  if (state.journal != nullptr) state.journal->set_weight(now_ns, tenant, weight);
  if (state.queue.by_tenant()) state.queue.fair().set_weight(tenant, weight);
  return {};
}

Scheduler Scheduler::fork() const {
  Scheduler copy(state_->config);
  *copy.state_ = *state_;
  copy.state_->journal = nullptr;
  return copy;
}

void Scheduler::record_to(Journal* journal) {
  PATERNOSTER_CHECK(journal == nullptr || (state_->next_sequence == 1 && state_->plan.step == 0));
  state_->journal = journal;
  if (journal != nullptr) journal->begin(state_->config);
}

}  // namespace paternoster::scheduler
