// A scheduler with the paper model as its executor, for tests that tell small stories. Every verb
// is followed by all invariants; a broken one fails the test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "scheduler/check.h"
#include "scheduler/presets.h"
#include "scheduler/scheduler.h"
#include "scheduler/testing/paper_model.h"

namespace paternoster::scheduler::testing {

class Lift {
 public:
  explicit Lift(const Config& config)
      : scheduler(*Scheduler::create(config)),
        model(config.limits.num_blocks, config.limits.block_size, 0, config.limits.swap_blocks) {}

  Lift(std::string_view preset, const Limits& limits) : Lift(Config{*choices_of(preset), limits}) {}

  static std::vector<TokenId> prompt(std::size_t length, TokenId first = 0) {
    std::vector<TokenId> tokens(length);
    for (std::size_t at = 0; at < length; ++at) tokens[at] = first + static_cast<TokenId>(at);
    return tokens;
  }

  // A request with the next id; what it was answered.
  Event submit(std::vector<TokenId> tokens, std::int32_t max_tokens, std::int32_t choices = 1) {
    Request request;
    request.prompt = std::move(tokens);
    request.max_tokens = max_tokens;
    request.choices = choices;
    return submit(std::move(request));
  }
  Event submit(Request request) {
    request.id = RequestId{++last_request};
    ledger.submitted(request.id);
    hear(scheduler.submit(++now_ns, std::move(request)));
    return events.back();
  }

  void cancel(std::uint64_t request) { hear(scheduler.cancel(++now_ns, RequestId{request})); }

  // The plan of one step, and its commit. The plan stays readable until the next.
  const Plan& plan() {
    // What waits for a time gets it.
    if (scheduler.last_plan().empty()) now_ns = std::max(now_ns, scheduler.last_plan().again_ns);
    const Plan& decided = scheduler.plan(++now_ns);
    ledger.planned(scheduler);
    look();
    return decided;
  }
  void commit() {
    StepResult result;
    if (scheduler.in_flight()) model.execute(scheduler.last_plan(), result);
    hear(scheduler.commit(++now_ns, result));
  }
  const Plan& step() {
    const Plan& decided = plan();
    commit();
    return decided;
  }

  // Steps until nobody is left; how many it took.
  int run(int most = 10000) {
    int steps = 0;
    while (!scheduler.idle() && steps < most) {
      step();
      ++steps;
    }
    EXPECT_TRUE(scheduler.idle()) << "no end within " << most << " steps";
    EXPECT_EQ(scheduler.stats().blocks_used, 0);
    EXPECT_EQ(scheduler.stats().blocks_reserved, 0);
    return steps;
  }

  WaitReason reason_of(SequenceId sequence) const {
    std::vector<Waiting> waiting;
    scheduler.list_waiting(waiting);
    for (const Waiting& one : waiting) {
      if (one.sequence == sequence) return one.reason;
    }
    return WaitReason::kNone;
  }

  int count(EventKind kind) const {
    int found = 0;
    for (const Event& event : events) found += event.kind == kind ? 1 : 0;
    return found;
  }
  std::vector<Event> all(EventKind kind) const {
    std::vector<Event> found;
    for (const Event& event : events) {
      if (event.kind == kind) found.push_back(event);
    }
    return found;
  }

  Scheduler scheduler;
  PaperModel model;
  Ledger ledger;
  std::vector<Event> events;                           // every one so far
  std::map<std::uint64_t, std::vector<TokenId>> said;  // by sequence
  std::uint64_t last_request = 0;
  std::int64_t now_ns = 0;

 private:
  void hear(std::span<const Event> heard) {
    ledger.told(heard);
    for (const Event& event : heard) {
      events.push_back(event);
      if (event.kind == EventKind::kToken) said[event.sequence.value].push_back(event.token);
    }
    look();
  }
  void look() {
    auto broken = check(scheduler);
    if (!broken) broken = ledger.check(scheduler);
    EXPECT_FALSE(broken.has_value()) << "invariant " << broken->number << ": " << broken->what;
  }
};

}  // namespace paternoster::scheduler::testing
