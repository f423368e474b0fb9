#include "fleet/dispatcher.h"

#include <algorithm>

#include "base/check.h"
#include "fleet/interval.h"
#include "fleet/placement/placement.h"

namespace paternoster::fleet {
namespace {

bool by_arrival(const Item& a, const Item& b) { return a.arrival < b.arrival; }

}  // namespace

bool Dispatcher::takes_work(const Instance& engine) const {
  return engine.stats.state == InstanceState::kAlive && engine.stats.batches < kMostBatches;
}

std::int64_t Dispatcher::free_tokens(const Instance& engine) const {
  return state_.config.memory.kv_tokens - engine.stats.held_tokens;
}

void Dispatcher::run() {
  if (state_.pool.empty()) return;
  if (now_ns_ < state_.next_dispatch_ns) {
    reason_ = WaitReason::kInterval;
  } else if (std::ranges::none_of(state_.instances, [this](const Instance& one) { return takes_work(one); })) {
    reason_ = std::ranges::any_of(state_.instances, [](const Instance& one) {
      return one.stats.state == InstanceState::kAlive;
    }) ? WaitReason::kAllBusy : WaitReason::kNoInstance;
  } else {
    gather();
    order();
    place_all();
  }
  set_timer();
  state_.plan.waiting = static_cast<std::int32_t>(state_.pool.size());
  state_.plan.reason = state_.pool.empty() ? WaitReason::kNone : reason_;
}

void Dispatcher::set_timer() {
  if (!state_.plan.empty()) {
    std::int64_t least_ns = INT64_MAX;
    for (const Instance& engine : state_.instances) {
      if (takes_work(engine)) least_ns = std::min(least_ns, engine.stats.load_ns);
    }
    const std::int64_t wait_ns =
        interval_ns(state_.config.choices.dispatch, state_.config.limits, least_ns);
    state_.next_dispatch_ns = now_ns_ > INT64_MAX - wait_ns ? INT64_MAX : now_ns_ + wait_ns;
  }
  if (!state_.pool.empty() && state_.next_dispatch_ns > now_ns_) state_.plan.next_ns = state_.next_dispatch_ns;
}

Item Dispatcher::item_of(Slot slot) const {
  const Rider& rider = state_.riders[slot];
  return {slot, rider.arrival, rider.choices, rider.length(), slice_iterations(state_, rider),
          expected_iterations(state_, rider)};
}

void Dispatcher::gather() {
  state_.items.clear();
  state_.candidates.clear();
  if (state_.config.choices.between == Between::kKeep) gather_kept();
  state_.part.clear();
  for (const Slot slot : state_.pool) {
    if (!state_.riders[slot].kept) state_.part.push_back(item_of(slot));
  }
  cut(false, InstanceId{});
}

void Dispatcher::gather_kept() {
  for (std::uint32_t at = 0; at < state_.instances.size(); ++at) {
    state_.part.clear();
    for (const Slot slot : state_.pool) {
      const Rider& rider = state_.riders[slot];
      if (rider.kept && rider.instance.value == at) state_.part.push_back(item_of(slot));
    }
    if (state_.part.empty()) continue;
    promise(InstanceId{at});
    cut(true, InstanceId{at});
  }
}

// Leaves in state_.part who may have the next slice at home.
void Dispatcher::promise(InstanceId home) {
  const Instance& engine = state_.instances[home.value];
  std::ranges::sort(state_.part, by_arrival);
  if (!takes_work(engine)) {
    // It takes no more: whoever waits moves. (A full queue empties again: then it is worth waiting.)
    if (engine.stats.state != InstanceState::kAlive) {
      for (const Item& item : state_.part) drop_kept(state_, item.slot, true);
    } else {
      reason_ = WaitReason::kAllBusy;
    }
    state_.part.clear();
    return;
  }
  std::int64_t room = free_tokens(engine);
  for (const Item& item : state_.part) room += item.input;
  // Oldest first: input and growth, or nothing.
  std::size_t goes = 0;
  state_.stay.clear();
  for (const Item& item : state_.part) {
    const std::int64_t need = std::int64_t{item.input} + item.iterations;
    if (need > room) {
      state_.stay.push_back(item);
      continue;
    }
    room -= need;
    state_.part[goes++] = item;
  }
  state_.part.resize(goes);
  for (const Item& item : state_.stay) {
    if (item.input <= room) {
      room -= item.input;
      reason_ = WaitReason::kNoMemory;
    } else {
      drop_kept(state_, item.slot, true);
    }
  }
}

void Dispatcher::cut(bool kept, InstanceId home) {
  if (state_.part.empty()) return;
  CutRules rules;
  rules.time = &state_.config.time;
  rules.memory = &state_.config.memory;
  rules.max_batch = state_.config.limits.max_batch;
  rules.prefills = !kept;
  rules.paged = state_.config.choices.between == Between::kKeep;
  rules.kv_tokens = state_.config.memory.kv_tokens;
  if (rules.paged && !kept) {
    rules.kv_tokens = 0;
    for (const Instance& engine : state_.instances) {
      if (takes_work(engine)) rules.kv_tokens = std::max(rules.kv_tokens, free_tokens(engine));
    }
  }
  state_.groups.clear();
  state_.batcher.cut(state_.config.choices.batching, rules, state_.part, state_.groups);
  const auto offset = static_cast<std::uint32_t>(state_.items.size());
  state_.items.insert(state_.items.end(), state_.part.begin(), state_.part.end());
  for (Group& group : state_.groups) {
    group.first += offset;
    state_.candidates.push_back({group, kept, home, false});
  }
}

void Dispatcher::order() {
  std::vector<Candidate>& candidates = state_.candidates;
  if (state_.config.choices.between == Between::kKeep) {
    auto oldest = candidates.end();
    for (auto at = candidates.begin(); at != candidates.end(); ++at) {
      if (!at->kept && (oldest == candidates.end() || at->group.oldest < oldest->group.oldest)) oldest = at;
    }
    if (oldest != candidates.end()) oldest->first = true;
  }
  const bool largest_first = placement::largest_first(state_.config.choices.placement) &&
                             state_.config.choices.dispatch != Dispatch::kWhenIdle;
  std::ranges::sort(candidates, [largest_first](const Candidate& a, const Candidate& b) {
    if (a.kept != b.kept) return a.kept;
    if (a.first != b.first) return a.first;
    if (largest_first && a.group.estimate_ns != b.group.estimate_ns) {
      return a.group.estimate_ns > b.group.estimate_ns;
    }
    return a.group.oldest < b.group.oldest;
  });
}

void Dispatcher::place_all() {
  for (const Candidate& candidate : state_.candidates) {
    const WaitReason reason = place(candidate);
    if (reason != WaitReason::kNone) reason_ = reason;
    if (reason != WaitReason::kNone && candidate.first) return;
  }
}

WaitReason Dispatcher::place(const Candidate& candidate) {
  if (const WaitReason reason = list_engines(candidate); reason != WaitReason::kNone) return reason;
  placement::View view;
  if (state_.config.choices.placement == Placement::kPrefixAware) {
    count_known(candidate);
    const Rider& rider = state_.riders[state_.items[candidate.group.first].slot];
    if (!rider.prefix.empty()) view.beginning = rider.prefix.front();
  }
  view.engines = state_.engines;
  view.estimate_ns = candidate.group.estimate_ns;
  view.slack_permille = state_.config.limits.prefix_slack_permille;
  view.last = state_.last_placed;
  view.any_before = state_.any_placed;
  const std::size_t chosen = placement::choose(state_.config.choices.placement, view);
  PATERNOSTER_CHECK(chosen < state_.engines.size());
  send(candidate, state_.engines[chosen].id);
  return WaitReason::kNone;
}

// Who may take it: kNone and at least one, or why nobody may.
WaitReason Dispatcher::list_engines(const Candidate& candidate) {
  const bool when_idle = state_.config.choices.dispatch == Dispatch::kWhenIdle;
  const bool keeps = state_.config.choices.between == Between::kKeep;
  state_.engines.clear();
  WaitReason reason = WaitReason::kAllBusy;
  for (std::uint32_t at = 0; at < state_.instances.size(); ++at) {
    const Instance& engine = state_.instances[at];
    if (candidate.kept && candidate.home.value != at) continue;
    if (!takes_work(engine) || (when_idle && engine.stats.batches > 0)) continue;
    if (keeps && !candidate.kept && candidate.group.kv_tokens > free_tokens(engine)) {
      reason = WaitReason::kNoMemory;
      continue;
    }
    state_.engines.push_back({InstanceId{at}, engine.stats.load_ns, engine.stats.requests, 0});
  }
  return state_.engines.empty() ? reason : WaitReason::kNone;
}

void Dispatcher::count_known(const Candidate& candidate) {
  for (placement::Engine& engine : state_.engines) {
    const KnownPrefixes& known = state_.instances[engine.id.value].known;
    for (std::uint32_t at = 0; at < candidate.group.count; ++at) {
      const Slot slot = state_.items[candidate.group.first + at].slot;
      engine.known_blocks += static_cast<std::int64_t>(known.match(state_.riders[slot].prefix));
    }
  }
}

void Dispatcher::send(const Candidate& candidate, InstanceId engine) {
  Slot slot = kNoSlot;
  if (state_.free_batches.empty()) {
    slot = static_cast<Slot>(state_.batches.size());
    state_.batches.emplace_back();
  } else {
    slot = state_.free_batches.back();
    state_.free_batches.pop_back();
  }
  const Group& group = candidate.group;
  SentBatch& batch = state_.batches[slot];
  batch.id = BatchId{state_.next_batch++};
  batch.instance = engine;
  batch.iterations = group.iterations;
  batch.estimate_ns = group.estimate_ns;
  batch.alive = static_cast<std::int32_t>(group.count);
  state_.batch_slots.put(batch.id.value, slot);
  state_.plan.batches.push_back({batch.id, engine, static_cast<std::uint32_t>(state_.plan.members.size()),
                                 group.count, group.padded_input, group.iterations, group.estimate_ns});
  for (std::uint32_t at = 0; at < group.count; ++at) {
    send_member(candidate, state_.items[group.first + at], slot);
  }
  InstanceStats& stats = state_.instances[engine.value].stats;
  stats.load_ns += group.estimate_ns;
  ++stats.batches;
  stats.requests += static_cast<std::int32_t>(group.count);
  stats.requests_sent += group.count;
  state_.totals.batches += 1;
  state_.totals.running += static_cast<std::int32_t>(group.count);
  ++state_.totals.batches_sent;
  state_.totals.slices_sent += group.count;
  state_.last_placed = engine;
  state_.any_placed = true;
}

void Dispatcher::send_member(const Candidate& candidate, const Item& item, Slot batch_slot) {
  SentBatch& batch = state_.batches[batch_slot];
  Instance& engine = state_.instances[batch.instance.value];
  leave_pool(state_, item.slot);
  Rider& rider = state_.riders[item.slot];
  state_.plan.members.push_back({rider.id, item.input, rider.output, item.iterations, candidate.kept});
  if (!candidate.kept) {
    const auto input = static_cast<std::uint64_t>(item.input);
    state_.totals.tokens_prefilled += input;
    state_.totals.tokens_reprefilled += rider.slices > 0 ? input : 0;
    if (state_.config.choices.between == Between::kRecompute) {
      state_.totals.tokens_padded += static_cast<std::uint64_t>(candidate.group.padded_input - item.input);
    }
  }
  if (state_.config.choices.between == Between::kKeep) {
    engine.stats.held_tokens += item.iterations + (candidate.kept ? 0 : std::int64_t{item.input});
  }
  if (state_.config.choices.placement == Placement::kPrefixAware) engine.known.remember(rider.prefix);
  rider.place = Place::kBatch;
  rider.batch = batch_slot;
  rider.slice_output = 0;
  rider.slice_tokens = item.iterations;
  rider.kept = false;
  rider.instance = batch.instance;
  rider.last_batch = batch.id;
  ++rider.slices;
  batch.members.push_back(item.slot);
}

}  // namespace paternoster::fleet
