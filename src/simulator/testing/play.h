// Plays a scenario on the simulator's engine in virtual time, all invariants checked after every verb, and keeps
// what each request saw. Everybody must end with exactly the tokens asked for, but for the one that is cancelled.
#pragma once

#include <algorithm>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "scheduler/state.h"
#include "simulator/engine.h"
#include "simulator/testing/scenario.h"
#include "workload/random_stream.h"

namespace paternoster::simulator::testing {

struct Ride {
  std::size_t riders = 0;  // index into Scenario::riders
  std::int64_t submitted_ns = 0;
  std::int64_t first_token_ns = -1;
  std::int64_t ended_ns = -1;
  std::int64_t last_token_ns = 0;
  std::int64_t largest_gap_ns = 0;  // of its first choice
  std::uint64_t submitted_in = 0;   // step
  std::uint64_t first_token_in = 0;
  std::int32_t tokens = 0;
  std::int32_t expected = 0;
  bool whole = true;  // every choice ended by itself
};

struct Service {
  std::int64_t at_ns = 0;
  std::size_t riders = 0;
  std::int64_t charge = 0;
};

// Cancel `request` at the given moment: one lies before each plan, one between each plan and its commit.
struct Cancel {
  std::uint64_t request = 0;
  std::uint64_t moment = 0;
};

struct Played {
  std::vector<Ride> rides;
  std::vector<Service> services;
  scheduler::Stats stats;
  std::uint64_t moments = 0;
  std::int64_t busy_ns = 0;
  std::int64_t end_ns = 0;
  std::string cancelled_in;  // the state it was in; empty: it was not there
  std::string fault;         // what must not be under any choices
};

class Play {
 public:
  // `alone`: the first of these riders, and nobody else.
  Play(const Scenario& scenario, const scheduler::Config& config, std::optional<std::size_t> alone = {},
       std::optional<Cancel> cancel = {})
      : scenario_(scenario),
        cancel_(cancel),
        engine_(*scheduler::Scheduler::create(config), scenario.model, flights_, true) {
    for (std::size_t at = 0; at < scenario.riders.size(); ++at) {
      if (!alone || *alone == at) line_up(at, alone ? 1 : scenario.riders[at].count);
    }
    for (const auto& [tenant, weight] : scenario.weights) {
      const auto set = engine_.scheduler().set_weight(0, tenant_of(tenant), weight);
      if (!set) throw std::runtime_error(set.error().message);
    }
  }

  Played run() {
    while (true) {
      submit_until(now_ns_);
      reach_moment();
      const auto end = engine_.begin_step(now_ns_);
      if (!end) {
        hear(engine_.settle(now_ns_));
        if (!wait()) break;
        continue;
      }
      submit_until(*end);
      played_.busy_ns += *end - now_ns_;
      now_ns_ = *end;
      reach_moment();
      ++steps_;
      hear(engine_.end_step(now_ns_));
    }
    judge();
    return std::move(played_);
  }

 private:
  struct Due {
    std::int64_t at_ns = 0;
    std::size_t riders = 0;
    std::uint64_t number = 0;
    bool operator>(const Due& other) const {
      return std::tie(at_ns, riders, number) > std::tie(other.at_ns, other.riders, other.number);
    }
  };

  void line_up(std::size_t which, std::size_t count) {
    const Riders& riders = scenario_.riders[which];
    // Closed arrivals: the others come as these are answered.
    const bool closed = riders.arrivals.kind == workload::Arrivals::Kind::kClosed;
    const std::size_t first = closed ? std::min(count, static_cast<std::size_t>(riders.arrivals.streams)) : count;
    for (const std::int64_t at_ns : workload::arrival_times(riders.arrivals, riders.rate, first, which)) {
      due_.push({riders.from_ns + at_ns, which, due_.size()});
    }
    to_come_.resize(scenario_.riders.size());
    to_come_[which] = count - first;
  }

  bool wait() {
    const std::int64_t again_ns = engine_.again_ns();
    if (due_.empty() && again_ns <= 0) return false;
    now_ns_ = due_.empty() ? again_ns : again_ns <= 0 ? due_.top().at_ns : std::min(again_ns, due_.top().at_ns);
    return true;
  }

  void submit_until(std::int64_t end_ns) {
    while (!due_.empty() && due_.top().at_ns <= end_ns) {
      const Due due = due_.top();
      due_.pop();
      submit(due);
    }
  }

  void submit(const Due& due) {
    const Riders& riders = scenario_.riders[due.riders];
    const std::uint64_t slot = flights_.open();
    workload::RandomStream random(slot, due.riders);
    Flight& flight = flights_[slot];
    flight.token = static_cast<TokenId>(slot + 1);
    flight.record.input_tokens = riders.prompt.draw(random);
    flight.output_tokens = riders.output.draw(random);
    scheduler::Request request;
    request.id = RequestId{slot};
    request.prompt.assign(static_cast<std::size_t>(flight.record.input_tokens), flight.token);
    request.max_tokens = flight.output_tokens;
    request.priority = riders.priority;
    request.choices = riders.choices;
    request.tenant = tenant_of(riders.tenant);
    played_.rides.push_back({.riders = due.riders, .submitted_ns = due.at_ns, .submitted_in = steps_,
                             .expected = flight.output_tokens * riders.choices});
    hear(engine_.submit(due.at_ns, std::move(request)));
  }

  TenantId tenant_of(const std::string& name) {
    const auto found = std::ranges::find(tenants_, name);
    const auto index = static_cast<std::uint32_t>(found - tenants_.begin());
    if (found == tenants_.end()) tenants_.push_back(name);
    return TenantId{index};
  }

  void reach_moment() {
    if (cancel_ && cancel_->moment == played_.moments && engine_.scheduler().live(RequestId{cancel_->request})) {
      played_.cancelled_in = state_of(cancel_->request);
      hear(engine_.cancel(now_ns_, RequestId{cancel_->request}));
    }
    ++played_.moments;
  }

  // Of the last of its sequences that lives.
  std::string state_of(std::uint64_t request) const {
    const scheduler::State& state = engine_.scheduler().state();
    std::string text;
    for (const scheduler::Sequence& sequence : state.sequences) {
      if (sequence.state == scheduler::SequenceState::kFree) continue;
      if (state.groups[sequence.group].id.value != request) continue;
      switch (sequence.state) {
        case scheduler::SequenceState::kParked: text = "parked"; break;
        case scheduler::SequenceState::kRunning:
          text = sequence.computed < scheduler::prompt_tokens(state, sequence) ? "prefill" : "decode";
          break;
        default:
          text = !sequence.host.empty() ? "swapped" : sequence.ever_boarded ? "preempted" : "queued";
      }
    }
    return text + (state.in_flight ? " in flight" : "");
  }

  void hear(std::span<const scheduler::Event> events) {
    for (const scheduler::Event& event : events) {
      Ride& ride = played_.rides[event.request.value];
      switch (event.kind) {
        case scheduler::EventKind::kAdmitted: charge_prompt(event, ride); break;
        case scheduler::EventKind::kToken: note_token(event, ride); break;
        case scheduler::EventKind::kFinished:
          ride.whole &= event.finish == scheduler::FinishReason::kStop ||
                        event.finish == scheduler::FinishReason::kLength;
          break;
        case scheduler::EventKind::kRefused: ride.whole = false; [[fallthrough]];
        case scheduler::EventKind::kRequestFinished: end(event, ride); break;
        case scheduler::EventKind::kAccepted:
        case scheduler::EventKind::kPreempted: break;
      }
    }
  }

  void charge_prompt(const scheduler::Event& event, const Ride& ride) {
    if (event.resumed) return;
    const std::int64_t computed = flights_[event.request.value].record.input_tokens - event.count;
    played_.services.push_back({event.at_ns, ride.riders, computed * scenario_.tuning.prompt_charge});
  }

  void note_token(const scheduler::Event& event, Ride& ride) {
    ++ride.tokens;
    played_.services.push_back({event.at_ns, ride.riders, scenario_.tuning.output_charge});
    if (event.choice != 0) return;
    if (ride.first_token_ns < 0) {
      ride.first_token_ns = event.at_ns;
      ride.first_token_in = steps_;
    } else {
      ride.largest_gap_ns = std::max(ride.largest_gap_ns, event.at_ns - ride.last_token_ns);
    }
    ride.last_token_ns = event.at_ns;
  }

  void end(const scheduler::Event& event, Ride& ride) {
    ride.ended_ns = played_.end_ns = event.at_ns;
    if (to_come_[ride.riders] == 0) return;
    if (scenario_.riders[ride.riders].arrivals.kind != workload::Arrivals::Kind::kClosed) return;
    --to_come_[ride.riders];
    due_.push({event.at_ns + scenario_.riders[ride.riders].arrivals.think_ns, ride.riders, played_.rides.size()});
  }

  void judge() {
    played_.stats = engine_.scheduler().stats();
    const scheduler::Stats& stats = played_.stats;
    for (std::size_t at = 0; at < played_.rides.size(); ++at) {
      const Ride& ride = played_.rides[at];
      const std::string who = scenario_.riders[ride.riders].name + " (request " + std::to_string(at) + ")";
      const bool cut = cancel_ && cancel_->request == at && !played_.cancelled_in.empty();
      if (ride.ended_ns < 0) blame(who + " never ended");
      if (cut && ride.whole) blame(who + " was cancelled and ended by itself");
      if (!cut && (!ride.whole || ride.tokens != ride.expected)) {
        blame(who + " ended with " + std::to_string(ride.tokens) + " of " + std::to_string(ride.expected) + " tokens");
      }
    }
    if (stats.blocks_used != 0 || stats.blocks_reserved != 0 || stats.swap_blocks_used != 0) blame("blocks are left");
  }

  void blame(const std::string& what) {
    if (played_.fault.empty()) played_.fault = what;
  }

  const Scenario& scenario_;
  std::optional<Cancel> cancel_;
  Flights flights_;
  Engine engine_;
  Played played_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::vector<std::size_t> to_come_;  // closed arrivals, by riders
  std::vector<std::string> tenants_{""};
  std::int64_t now_ns_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace paternoster::simulator::testing
