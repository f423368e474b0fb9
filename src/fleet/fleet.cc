#include "fleet/fleet.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "fleet/dispatcher.h"
#include "fleet/state.h"

namespace paternoster::fleet {
namespace {

constexpr std::int32_t kMostTokens = 1 << 29;  // a length: prompt and output stay below 2^30

Refusal refusal_of(const State& state, const Request& request) {
  if (state.draining) return Refusal::kDraining;
  const bool solo = state.config.choices.batching == Batching::kSolo;
  const bool lengths = request.prompt_tokens >= 1 && request.prompt_tokens <= kMostTokens &&
                       request.max_tokens >= 1 && request.max_tokens <= kMostTokens;
  if (!lengths || request.choices < 1 || request.choices > (solo ? 1 << 16 : 1)) return Refusal::kInvalid;
  const Shape whole{request.choices, request.prompt_tokens, request.max_tokens};
  if (!fits(state.config.memory, whole)) return Refusal::kNeverFits;
  if (state.totals.queued >= state.config.limits.max_queue) return Refusal::kQueueFull;
  return Refusal::kNone;
}

void accept(State& state, std::int64_t now_ns, Request request) {
  Slot slot = kNoSlot;
  if (state.free_riders.empty()) {
    slot = static_cast<Slot>(state.riders.size());
    state.riders.emplace_back();
  } else {
    slot = state.free_riders.back();
    state.free_riders.pop_back();
  }
  Rider& rider = state.riders[slot];
  rider = Rider{};
  rider.id = request.id;
  rider.arrival = state.next_arrival++;
  rider.prompt = request.prompt_tokens;
  rider.max_tokens = request.max_tokens;
  rider.choices = request.choices;
  rider.prefix = std::move(request.prefix);
  state.rider_slots.put(rider.id.value, slot);
  ++state.totals.requests_accepted;
  enter_pool(state, slot);
  emit(state, now_ns, EventKind::kAccepted, rider);
}

void end_members(State& state, std::int64_t now_ns, Slot slot, const SliceResult& result) {
  std::int64_t produced = 0;
  auto next = result.members.begin();
  // By index: state.batches may not move, but members become kNoSlot as they end.
  for (std::size_t at = 0; at < state.batches[slot].members.size(); ++at) {
    const Slot member = state.batches[slot].members[at];
    if (member == kNoSlot) continue;
    const Rider& rider = state.riders[member];
    while (next != result.members.end() && next->request != rider.id) ++next;  // cancelled meanwhile
    PATERNOSTER_CHECK(next != result.members.end());
    PATERNOSTER_CHECK(next->produced >= rider.slice_output && next->produced <= rider.slice_tokens &&
                      next->produced <= result.iterations);
    produced += next->produced;
    end_slice(state, now_ns, member, next->produced, next->stopped);
    ++next;
  }
  const auto seats = static_cast<std::int64_t>(state.batches[slot].members.size());
  state.totals.tokens_invalid += static_cast<std::uint64_t>(seats * result.iterations - produced);
}

}  // namespace

Result<Fleet> Fleet::create(const Config& config) {
  if (auto valid = validate(config); !valid) return std::unexpected(std::move(valid).error());
  return Fleet(config);
}

Fleet::Fleet(const Config& config) : state_(std::make_unique<State>(config)) {}
Fleet::Fleet(Fleet&&) noexcept = default;
Fleet& Fleet::operator=(Fleet&&) noexcept = default;
Fleet::~Fleet() = default;

std::span<const Event> Fleet::submit(std::int64_t now_ns, Request request) {
  State& state = *state_;
  PATERNOSTER_CHECK(!live(request.id));
  state.events.clear();
  if (const Refusal refusal = refusal_of(state, request); refusal != Refusal::kNone) {
    Event& event = state.events.emplace_back();
    event.at_ns = now_ns;
    event.kind = EventKind::kRefused;
    event.request = request.id;
    event.refusal = refusal;
    ++state.totals.requests_refused;
  } else {
    accept(state, now_ns, std::move(request));
  }
  return state.events;
}

std::span<const Event> Fleet::cancel(std::int64_t now_ns, RequestId request) {
  State& state = *state_;
  state.events.clear();
  if (const Slot* slot = state.rider_slots.find(request.value)) {
    finish(state, now_ns, *slot, FinishReason::kCancelled);
  }
  return state.events;
}

const Plan& Fleet::plan(std::int64_t now_ns) {
  State& state = *state_;
  state.events.clear();
  Plan& plan = state.plan;
  ++plan.number;
  plan.batches.clear();
  plan.members.clear();
  plan.drops.clear();
  plan.waiting = 0;
  plan.reason = WaitReason::kNone;
  plan.next_ns = Plan::kNever;
  Dispatcher(state, now_ns).run();
  return plan;
}

std::span<const Event> Fleet::commit(std::int64_t now_ns, const SliceResult& result) {
  State& state = *state_;
  state.events.clear();
  const Slot* found = state.batch_slots.find(result.batch.value);
  if (found == nullptr) return state.events;
  const Slot slot = *found;
  const SentBatch& batch = state.batches[slot];
  InstanceStats& engine = state.instances[batch.instance.value].stats;
  engine.last_done_ns = now_ns;
  engine.estimated_ns += batch.estimate_ns;
  ++engine.batches_done;
  ++state.totals.batches_done;
  state.totals.early_returns += result.iterations < batch.iterations ? 1 : 0;
  end_members(state, now_ns, slot, result);
  close_batch(state, slot);
  return state.events;
}

void Fleet::drain() {
  state_->events.clear();
  state_->draining = true;
}

Result<void> Fleet::set_time(const TimeModel& time) {
  Config config = state_->config;
  config.time = time;
  if (auto valid = validate(config); !valid) return valid;
  state_->config.time = time;
  return {};
}

void Fleet::progress(RequestId request, std::int32_t produced) {
  const Slot* slot = state_->rider_slots.find(request.value);
  if (slot == nullptr) return;
  Rider& rider = state_->riders[*slot];
  if (rider.place != Place::kBatch) return;
  PATERNOSTER_CHECK(produced >= rider.slice_output && produced <= rider.slice_tokens);
  rider.slice_output = produced;
}

std::span<const Event> Fleet::lose(std::int64_t now_ns, BatchId batch) {
  state_->events.clear();
  if (const Slot* slot = state_->batch_slots.find(batch.value)) lose_batch(*state_, now_ns, *slot, true);
  return state_->events;
}

std::span<const Event> Fleet::set_instance(std::int64_t now_ns, InstanceId instance, InstanceState to) {
  State& state = *state_;
  PATERNOSTER_CHECK(instance.value < state.instances.size());
  state.events.clear();
  state.instances[instance.value].stats.state = to;
  if (to != InstanceState::kDead) return state.events;
  // Static batches run one after the other: only the first can have killed the engine.
  const bool all_run = state.config.choices.batching == Batching::kSolo;
  std::uint64_t first = UINT64_MAX;
  for (const SentBatch& batch : state.batches) {
    if (batch.id.value != 0 && batch.instance == instance) first = std::min(first, batch.id.value);
  }
  for (Slot slot = 0; slot < state.batches.size(); ++slot) {
    const SentBatch& batch = state.batches[slot];
    if (batch.id.value == 0 || batch.instance != instance) continue;
    lose_batch(state, now_ns, slot, all_run || batch.id.value == first);
  }
  for (const Slot slot : state.pool) {
    const Rider& rider = state.riders[slot];
    if (!rider.kept || rider.instance != instance) continue;
    drop_kept(state, slot, false);
    ++state.totals.kv_dropped;
  }
  state.instances[instance.value].known.forget_all();
  return state.events;
}

const Config& Fleet::config() const { return state_->config; }

Stats Fleet::stats() const {
  Stats stats = state_->totals;
  stats.pool = static_cast<std::int32_t>(state_->pool.size());
  return stats;
}

InstanceStats Fleet::stats(InstanceId instance) const {
  PATERNOSTER_CHECK(instance.value < state_->instances.size());
  return state_->instances[instance.value].stats;
}

bool Fleet::live(RequestId request) const { return state_->rider_slots.find(request.value) != nullptr; }
bool Fleet::idle() const { return state_->rider_slots.size() == 0; }
bool Fleet::draining() const { return state_->draining; }
const Plan& Fleet::last_plan() const { return state_->plan; }

const char* to_string(InstanceState state) {
  switch (state) {
    case InstanceState::kAlive: return "alive";
    case InstanceState::kDraining: return "draining";
    case InstanceState::kDead: return "dead";
  }
  return "?";
}

}  // namespace paternoster::fleet
