// Random lives of a fleet, for property tests and the fuzzer: bytes choose a configuration and then
// verbs, engines die and come back. After every verb all invariants are checked; every request says
// what it would say alone (a number of tokens drawn when it is submitted); in the end everything
// drains within a bound on plans.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fleet/check.h"
#include "fleet/fleet.h"
#include "scheduler/mix.h"

namespace paternoster::fleet::testing {

class Script {
 public:
  using Bytes = std::function<std::uint8_t()>;

  Script(const Config& config, Bytes next) : fleet_(*Fleet::create(config)), next_(std::move(next)) {}

  static Config config_of(const Bytes& next) {
    Config config;
    config.choices.batching = static_cast<Batching>(next() % 4);
    config.choices.placement = static_cast<Placement>(next() % 4);
    config.choices.dispatch = static_cast<Dispatch>(next() % 4);
    Limits& limits = config.limits;
    limits.slice_tokens = next() % 4 == 0 ? kWholeRequest : 1 + next() % 12;
    const bool sliced = limits.slice_tokens != kWholeRequest;
    if (sliced && next() % 2 == 0) config.choices.between = Between::kKeep;
    limits.instances = 1 + next() % 5;
    limits.max_batch = 1 + next() % 6;
    limits.max_queue = 1 + next() % 24;
    limits.max_failures = next() % 4;
    limits.interval_ns = 1 + next() % 40;
    limits.interval_load_permille = next() * 8;
    limits.prefix_slack_permille = next() * 4;
    limits.known_prefixes = next() % 12;
    config.memory.kv_tokens = 20 + next();
    if (next() % 3 == 0) config.memory.rules = {{10 + next() % 20, 4}, {60, 2}};
    return config;
  }

  // One verb. False once broken.
  bool act() {
    ++now_ns_;
    switch (next_() % 8) {
      case 0:
      case 1: submit(); break;
      case 2: next_() % 3 == 0 ? cancel() : plan(); break;
      case 3: trouble(); break;
      case 4:
      case 5: commit_one(); break;
      default: plan();
    }
    return failure_.empty();
  }

  // Runs until nobody is left, on engines that live.
  bool finish() {
    fleet_.drain();
    submit();
    for (std::uint32_t at = 0; at < instances(); ++at) set_instance(InstanceId{at}, InstanceState::kAlive);
    std::int64_t bound = 100;
    for (const auto& [id, ride] : rides_) bound += 4 * std::int64_t{ride.request.max_tokens};
    while (failure_.empty() && !fleet_.idle()) {
      if (--bound < 0) fail("no end: livelock");
      now_ns_ = std::max(now_ns_ + 1, next_ns_ == Plan::kNever ? 0 : next_ns_);
      plan();
      while (failure_.empty() && !sent_.empty()) commit(sent_.begin());
    }
    const Stats stats = fleet_.stats();
    require(stats.requests_accepted == stats.requests_finished, "accepted requests finished");
    require(stats.tokens_produced == heard_, "produced tokens are told");
    for (std::uint32_t at = 0; at < instances(); ++at) {
      require(fleet_.stats(InstanceId{at}).load_ns == 0, "no load in the end");
      require(fleet_.stats(InstanceId{at}).held_tokens == 0, "no KV in the end");
    }
    return failure_.empty();
  }

  const std::string& failure() const { return failure_; }
  Stats stats() const { return fleet_.stats(); }
  std::uint64_t digest() const { return digest_; }  // of all plans

 private:
  struct Ride {
    Request request;
    std::int32_t will_say = 0;
    std::int32_t said = 0;
  };
  struct Sent {
    Batch batch;
    std::vector<Member> members;
    std::map<std::uint64_t, std::int32_t> reported;
  };
  using SentAt = std::map<std::uint64_t, Sent>::iterator;

  std::uint32_t instances() const { return static_cast<std::uint32_t>(fleet_.config().limits.instances); }
  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = what + " at plan " + std::to_string(fleet_.last_plan().number);
  }
  void require(bool holds, const char* what) {
    if (!holds) fail(what);
  }

  void submit() {
    Request request;
    request.id = RequestId{++last_request_};
    request.prompt_tokens = 1 + next_() % 40;
    request.max_tokens = 1 + next_() % 40;
    request.choices = next_() % 16 == 0 ? 2 : 1;
    for (int at = next_() % 4; at > 0; --at) request.prefix.push_back(next_() % 8);
    const std::int32_t will_say = 1 + next_() % request.max_tokens;
    rides_[request.id.value] = {request, will_say, 0};
    ledger_.submitted(request);
    hear(fleet_.submit(now_ns_, request));
  }

  void cancel() {
    if (rides_.empty()) return;
    auto ride = rides_.begin();
    std::advance(ride, next_() % rides_.size());
    const RequestId request = ride->second.request.id;
    hear(fleet_.cancel(now_ns_, request));
    require(!fleet_.live(request), "cancelled is over");
  }

  void trouble() {
    const InstanceId instance{next_() % instances()};
    switch (next_() % 4) {
      case 0: return set_instance(instance, InstanceState::kDead);
      case 1: return set_instance(instance, InstanceState::kDraining);
      case 2: return progress();
      default: break;
    }
    if (!sent_.empty() && next_() % 2 == 0) {
      const BatchId batch = sent_.begin()->second.batch.id;
      sent_.erase(sent_.begin());
      hear(fleet_.lose(now_ns_, batch));
    } else {
      set_instance(instance, InstanceState::kAlive);
    }
  }

  void set_instance(InstanceId instance, InstanceState state) {
    hear(fleet_.set_instance(now_ns_, instance, state));
    if (state != InstanceState::kDead) return;
    // Sometimes a dead engine speaks: that must not be heard. Batches sent later have other ids.
    for (auto at = sent_.begin(); at != sent_.end();) {
      const bool dead = at->second.batch.instance == instance;
      if (dead && next_() % 2 == 0) {
        require(fleet_.commit(now_ns_, {at->second.batch.id, 9, {}}).empty(), "the dead are not heard");
      }
      at = dead ? sent_.erase(at) : std::next(at);
    }
  }

  void progress() {
    if (sent_.empty()) return;
    Sent& sent = sent_.begin()->second;
    for (const Member& member : sent.members) {
      const auto ride = rides_.find(member.request.value);
      if (ride == rides_.end()) continue;
      std::int32_t& reported = sent.reported[member.request.value];
      reported = std::max<std::int32_t>(reported, next_() % (valid(ride->second, member) + 1));
      fleet_.progress(member.request, reported);
    }
    look();
  }

  // What a member says in this slice if nothing disturbs it.
  static std::int32_t valid(const Ride& ride, const Member& member) {
    return std::min(member.most_tokens, ride.will_say - member.output_tokens);
  }

  void plan() {
    const Plan& plan = fleet_.plan(now_ns_);
    digest_ = scheduler::mix(digest_, plan_hash(plan));
    ledger_.planned(fleet_, now_ns_);
    next_ns_ = plan.next_ns;
    for (const Batch& batch : plan.batches) {
      const auto members = plan.members_of(batch);
      sent_[batch.id.value] = {batch, {members.begin(), members.end()}, {}};
    }
    look();
  }

  void commit_one() {
    if (sent_.empty()) return;
    auto sent = sent_.begin();
    std::advance(sent, next_() % sent_.size());
    commit(sent);
  }

  void commit(SentAt at) {
    SliceResult result;
    result.batch = at->second.batch.id;
    for (const Member& member : at->second.members) {
      const auto ride = rides_.find(member.request.value);
      if (ride == rides_.end()) continue;
      const std::int32_t produced = valid(ride->second, member);
      const bool stopped = member.output_tokens + produced == ride->second.will_say;
      result.members.push_back({member.request, produced, stopped});
      result.iterations = std::max(result.iterations, produced);
    }
    sent_.erase(at);
    hear(fleet_.commit(now_ns_, result));
  }

  void hear(std::span<const Event> events) {
    ledger_.told(events);
    for (const Event& event : events) {
      const auto found = rides_.find(event.request.value);
      if (found == rides_.end()) return fail("told of a stranger");
      Ride& ride = found->second;
      heard_ += static_cast<std::uint64_t>(event.tokens - ride.said);
      ride.said = event.tokens;
      require(ride.said <= ride.will_say, "nobody says more than alone");
      if (event.kind != EventKind::kRefused && event.kind != EventKind::kFinished) continue;
      const bool whole = event.finish == FinishReason::kStop;
      require(!whole || ride.said == ride.will_say, "who stops has said all");
      rides_.erase(found);
    }
    std::erase_if(sent_, [this](const auto& sent) {
      return std::ranges::none_of(sent.second.members,
                                  [this](const Member& one) { return rides_.contains(one.request.value); });
    });
    look();
  }

  void look() {
    auto broken = check(fleet_);
    if (!broken) broken = ledger_.check(fleet_);
    if (broken) fail("invariant " + std::to_string(broken->number) + ": " + broken->what);
  }

  Fleet fleet_;
  Bytes next_;
  Ledger ledger_;
  std::map<std::uint64_t, Ride> rides_;
  std::map<std::uint64_t, Sent> sent_;
  std::uint64_t last_request_ = 0;
  std::uint64_t heard_ = 0;
  std::uint64_t digest_ = 0;
  std::int64_t now_ns_ = 0;
  std::int64_t next_ns_ = Plan::kNever;
  std::string failure_;
};

}  // namespace paternoster::fleet::testing
