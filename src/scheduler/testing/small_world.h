// A world small enough to see all of it: a few requests, four blocks, two seats. Its states are
// copied at every fork of what may happen next, so that all interleavings of submit, cancel and step
// can be walked through; each is held to all invariants, and to the tokens that everyone says alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scheduler/check.h"
#include "scheduler/scheduler.h"
#include "scheduler/testing/paper_model.h"

namespace paternoster::scheduler::testing {

class SmallWorld {
 public:
  SmallWorld(const Config& config, const std::vector<Request>& requests)
      : scheduler_(*Scheduler::create(config)),
        model_(config.limits.num_blocks, config.limits.block_size, 5, config.limits.swap_blocks),
        requests_(&requests) {}
  SmallWorld(const SmallWorld& other)
      : scheduler_(other.scheduler_.fork()),
        model_(other.model_),
        requests_(other.requests_),
        ledger_(other.ledger_),
        said_(other.said_),
        submitted_(other.submitted_),
        cancelled_(other.cancelled_),
        now_ns_(other.now_ns_),
        history_(other.history_),
        failure_(other.failure_) {}

  // Every way in which `steps` more steps may go with the requests that have not come yet and at most
  // one cancel, before a plan or between plan and commit; each to its end. The first failure with
  // the history that led to it; empty if there is none. `ends` counts the ways.
  std::string explore(int steps, std::uint64_t& ends) const {
    if (steps == 0) {
      SmallWorld end(*this);
      ++ends;
      return end.finish();
    }
    if (submitted_ < requests_->size()) {
      SmallWorld next(*this);
      next.submit();
      if (std::string failure = next.explore_on(steps, ends); !failure.empty()) return failure;
    }
    for (std::uint64_t id = 1; !cancelled_ && id <= submitted_; ++id) {
      if (!scheduler_.live(RequestId{id})) continue;
      SmallWorld before(*this);
      before.cancel(id);
      if (std::string failure = before.explore_on(steps, ends); !failure.empty()) return failure;
      SmallWorld between(*this);
      between.step(id);
      if (std::string failure = between.explore_on(steps - 1, ends); !failure.empty()) {
        return failure;
      }
    }
    SmallWorld next(*this);
    next.step(0);
    return next.explore_on(steps - 1, ends);
  }

 private:
  std::string explore_on(int steps, std::uint64_t& ends) const {
    return failure_.empty() ? explore(steps, ends) : failure_;
  }

  std::string finish() {
    for (; submitted_ < requests_->size();) submit();
    for (int most = 400; !scheduler_.idle() && failure_.empty(); --most) {
      if (most == 0) fail("no end: livelock");
      step(0);
    }
    const Stats stats = scheduler_.stats();
    if (stats.blocks_used != 0 || stats.blocks_reserved != 0 || stats.swap_blocks_used != 0) {
      fail("blocks are left in the end");
    }
    return failure_;
  }

  void submit() {
    Request request = (*requests_)[submitted_++];
    request.id = RequestId{submitted_};
    history_ += " submit";
    ledger_.submitted(request.id);
    hear(scheduler_.submit(now_ns_, std::move(request)));
  }

  void cancel(std::uint64_t id) {
    cancelled_ = true;
    history_ += " cancel" + std::to_string(id);
    hear(scheduler_.cancel(now_ns_, RequestId{id}));
  }

  // With a cancel between plan and commit unless `between` is 0.
  void step(std::uint64_t between) {
    const Plan& plan = scheduler_.plan(now_ns_ += 10);
    history_ += " plan";
    ledger_.planned(scheduler_);
    look();
    if (plan.empty() && plan.again_ns > now_ns_) now_ns_ = plan.again_ns;
    if (between != 0) cancel(between);
    StepResult result;
    if (!plan.empty()) model_.execute(plan, result);
    history_ += " commit";
    hear(scheduler_.commit(now_ns_ += 5, result));
  }

  void hear(std::span<const Event> events) {
    ledger_.told(events);
    for (const Event& event : events) {
      auto& said = said_[{event.request.value, event.choice}];
      if (event.kind == EventKind::kToken) said.push_back(event.token);
      if (event.kind != EventKind::kFinished) continue;
      const Request& request = (*requests_)[event.request.value - 1];
      const auto prompt = static_cast<std::int32_t>(request.prompt.size());
      const std::int32_t most = scheduler_.config().limits.max_len - prompt;
      const auto expected =
          model_.alone(request.prompt, event.choice, std::min(request.max_tokens, most));
      const bool cut = event.finish == FinishReason::kCancelled ||
                       event.finish == FinishReason::kDeadline;
      if (said.size() > expected.size() || (!cut && said.size() < expected.size()) ||
          !std::equal(said.begin(), said.end(), expected.begin())) {
        fail("a sequence says what it says alone");
      }
    }
    look();
  }

  void look() {
    auto broken = check(scheduler_);
    if (!broken) broken = ledger_.check(scheduler_);
    if (broken) fail("invariant " + std::to_string(broken->number) + ": " + broken->what);
  }

  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = what + " after" + history_;
  }

  Scheduler scheduler_;
  PaperModel model_;
  const std::vector<Request>* requests_;
  Ledger ledger_;
  std::map<std::pair<std::uint64_t, std::int32_t>, std::vector<TokenId>> said_;
  std::size_t submitted_ = 0;
  bool cancelled_ = false;
  std::int64_t now_ns_ = 0;
  std::string history_;
  std::string failure_;
};

}  // namespace paternoster::scheduler::testing
