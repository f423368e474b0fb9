// Random lives of a scheduler, for property tests and the fuzzer: bytes choose a configuration and
// then verbs. After every verb all invariants are checked; every finished sequence must have said
// exactly what it says alone; in the end everything drains within a bound on steps, and all blocks
// are free.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/boarding/boarding.h"
#include "scheduler/check.h"
#include "scheduler/journal.h"
#include "scheduler/presets.h"
#include "scheduler/scheduler.h"
#include "scheduler/testing/paper_model.h"

namespace paternoster::scheduler::testing {

class Script {
 public:
  using Bytes = std::function<std::uint8_t()>;

  Script(const Config& config, Bytes next)
      : scheduler_(*Scheduler::create(config)),
        model_(config.limits.num_blocks, config.limits.block_size, next() % 2 == 0 ? 9 : 0,
               config.limits.swap_blocks),
        next_(std::move(next)) {
    scheduler_.record_to(&journal_);
  }

  static Config config_of(const Bytes& next) {
    Config config;
    const std::uint8_t boarding = next() % 12;
    config.choices.boarding =
        boarding < 6 ? static_cast<Boarding>(boarding) : Boarding::kContinuous;
    config.choices.prefill = static_cast<Prefill>(next() % 4);
    config.choices.order = static_cast<Order>(next() % 6);
    config.choices.relief = static_cast<Relief>(next() % 4);
    config.choices.victim = next() % 2 == 0 ? Victim::kLatest : Victim::kLeastWork;
    Limits& limits = config.limits;
    limits.max_seqs = 1 + next() % 6;
    limits.step_tokens = limits.max_seqs + next() % 24;
    limits.block_size = 1 + next() % 5;
    limits.num_blocks = 2 + next() % 30;
    limits.max_len = 4 + next() % 60;
    limits.max_queue = next() % 8;
    limits.max_choices = 5;
    limits.protect_after = 1 + next() % 3;
    limits.prefix_cache = next() % 4 != 0;
    // The script's clock advances by 1 to 16 with each verb.
    config.tuning.window_ns = next() * 2;
    config.tuning.window_seqs = next() % 8;
    config.tuning.slice_tokens = 1 + next() % 12;
    config.tuning.itl_target_ns = 1 + next() / 4;
    config.tuning.ageing_ns = 1 + next() * 4;
    config.tuning.promotion_ns = 1 + next() * 4;
    config.tuning.quantum_ns = 1 + next() % 32;
    config.cost = {.step_ns = next() % 8, .token_ps = 1 + next() * 8, .context_ps = next()};
    config.cost.swap_block_ns = next() % 4;
    limits.swap_blocks = next() % 3 == 0 ? 1 + next() % 4 : 1 + next() % 40;
    config.choices.speculation = next() % 2 == 0 ? Speculation::kOff : Speculation::kNgram;
    config.tuning.draft_tokens = 1 + next() % 9;
    config.tuning.draft_seqs = 1 + next() % 6;
    // Choices that do not go together: the nearest that do.
    if (!validate(config)) config.choices.boarding = Boarding::kContinuous;
    return config;
  }

  // One verb (a step is plan and commit, with others' verbs between them). False once broken.
  bool act() {
    switch (next_() % 8) {
      case 0:
      case 1:
        submit();
        break;
      case 2:
        next_() % 4 == 0 ? cancel() : step();
        break;
      case 4:
        next_() % 8 == 0 ? retune() : step();
        break;
      case 3:
        next_() % 4 == 0 ? force_preempt() : step();
        break;
      default:
        step();
    }
    return failure_.empty();
  }

  // Runs until nobody is left.
  bool finish() {
    scheduler_.drain();
    submit();
    std::int64_t bound = 100;
    for (const auto& [id, ride] : rides_) bound += ride.over ? 0 : ride.worst_steps;
    while (failure_.empty() && !scheduler_.idle()) {
      if (--bound < 0) fail("no end: livelock");
      step();
    }
    const Stats stats = scheduler_.stats();
    require(stats.blocks_used == 0 && stats.blocks_reserved == 0, "all blocks are free in the end");
    require(stats.requests_accepted == stats.requests_finished, "accepted requests finished");
    return failure_.empty();
  }

  const std::string& failure() const { return failure_; }
  std::uint64_t steps() const { return scheduler_.stats().steps; }
  Stats stats() const { return scheduler_.stats(); }
  const Journal& journal() const { return journal_; }

 private:
  struct Ride {
    std::vector<TokenId> expected;
    std::vector<TokenId> said;
    std::int64_t worst_steps = 0;
    RequestId request;
    bool over = false;
  };

  std::int64_t tick() { return now_ns_ += 1 + next_() % 16; }

  void fail(const std::string& what) {
    if (failure_.empty()) {
      failure_ = what + " at step " + std::to_string(scheduler_.stats().steps);
    }
  }
  void require(bool holds, const char* what) {
    if (!holds) fail(what);
  }

  Request invent() {
    Request request;
    request.id = RequestId{++last_request_};
    const Limits& limits = scheduler_.config().limits;
    const int length = 1 + next_() % (limits.max_len + 1);
    // Few tokens and few beginnings, so that prefixes meet.
    const int family = next_() % 3;
    for (int at = 0; at < length; ++at) request.prompt.push_back((at * (family + 1) / 3) % 3);
    if (next_() % 3 == 0) request.prompt.back() = next_() % 3;
    request.max_tokens = 1 + next_() % 24;
    request.choices = next_() % 3 == 0 ? 1 + next_() % 5 : 1;
    request.cache_namespace = next_() % 4 == 0 ? 1 : 0;
    request.reads_prefix_cache = next_() % 5 != 0;
    request.tenant = TenantId{next_() % 4u};
    request.priority = next_() % 4 - 1;
    request.itl_target_ns = next_() % 4 == 0 ? next_() : 0;
    request.expected_tokens = next_() % 3 == 0 ? next_() % 30 : 0;
    if (next_() % 4 == 0) request.deadline_ns = now_ns_ + next_() * 8;
    return request;
  }

  void submit() {
    const Request request = invent();
    const Stats before = scheduler_.stats();
    ledger_.submitted(request.id);
    const auto events = scheduler_.submit(tick(), request);
    const Event& answer = events.back();
    if (answer.kind == EventKind::kAccepted) {
      board_books(request, answer.sequence);
    } else {
      require(answer.kind == EventKind::kRefused, "a submit is answered");
      require(answer.refusal != Refusal::kQueueFull ||
                  before.queued_requests >= scheduler_.config().limits.max_queue,
              "refused for a full queue only when it is full");
    }
    hear(events);
  }

  void board_books(const Request& request, SequenceId first) {
    const Limits& limits = scheduler_.config().limits;
    const auto prompt = static_cast<std::int32_t>(request.prompt.size());
    const std::int32_t max_new = std::min(request.max_tokens, limits.max_len - prompt);
    for (std::int32_t choice = 0; choice < request.choices; ++choice) {
      Ride& ride = rides_[first.value + static_cast<std::uint64_t>(choice)];
      ride.request = request.id;
      ride.expected = model_.alone(request.prompt, choice, max_new);
      // Every step computes a token, and each token is computed once a boarding.
      const Config& config = scheduler_.config();
      const std::int32_t most = std::max(max_new, 24);  // static_global runs on to the longest
      const std::int32_t slices = boarding::is_sliced(config.choices.boarding)
                                      ? max_new / config.tuning.slice_tokens + 1
                                      : 1;
      ride.worst_steps =
          std::int64_t{prompt + most} * (limits.protect_after + 3) * (slices + 1) + 2;
    }
  }

  void cancel() {
    if (rides_.empty()) return;
    auto ride = rides_.begin();
    std::advance(ride, next_() % rides_.size());
    const RequestId request = ride->second.request;
    hear(scheduler_.cancel(tick(), request));
    require(!scheduler_.live(request), "cancelled is over");
  }

  void force_preempt() {
    std::vector<SequenceId> running;
    scheduler_.list_running(running);
    if (running.empty()) return;
    const SequenceId victim = running[next_() % running.size()];
    require(scheduler_.force_preempt(tick(), victim), "a running sequence can be preempted");
    look();
  }

  void retune() {
    CostModel cost;
    cost.step_ns = next_() % 16;
    cost.token_ps = 1 + next_() * 16;
    require(scheduler_.calibrate(tick(), cost).has_value(), "costs in range are taken");
    const std::int32_t weight = 1 + next_();
    require(scheduler_.set_weight(tick(), TenantId{next_() % 4u}, weight).has_value(),
            "weights in range are taken");
    look();
  }

  void step() {
    const Plan& plan = scheduler_.plan(tick());
    ledger_.planned(scheduler_);
    account(plan);
    look();
    if (!failure_.empty()) return;
    if (plan.empty()) {
      if (plan.again_ns > now_ns_) now_ns_ = plan.again_ns;
      // nothing to carry out, but something may have ended
      result_.outcomes.clear();
      hear(scheduler_.commit(tick(), result_));
      return;
    }
    const std::uint8_t between = next_();
    if (between % 8 == 0) submit();
    if (between % 16 == 1) cancel();
    model_.execute(plan, result_);
    hear(scheduler_.commit(tick(), result_));
  }

  // The slow account of tokens: what the plan lists is what the totals say.
  void account(const Plan& plan) {
    planned_ += plan.tokens.size();
    for (const RunEntry& entry : plan.run) sampled_ += entry.samples ? 1 : 0;
    require(planned_ == scheduler_.stats().tokens_planned, "planned tokens are counted");
    std::vector<Waiting> waiting;
    scheduler_.list_waiting(waiting);
    std::int32_t by_reason[kWaitReasons] = {};
    for (const Waiting& one : waiting) ++by_reason[static_cast<std::size_t>(one.reason)];
    require(by_reason[0] == 0, "everyone who waits has a reason");
    require(std::ranges::equal(by_reason, scheduler_.stats().waiting_by_reason),
            "reasons are counted");
  }

  void hear(std::span<const Event> events) {
    ledger_.told(events);
    for (const Event& event : events) {
      if (event.kind == EventKind::kToken) rides_[event.sequence.value].said.push_back(event.token);
      if (event.kind != EventKind::kFinished) continue;
      Ride& ride = rides_[event.sequence.value];
      ride.over = true;
      if (event.finish != FinishReason::kCancelled && event.finish != FinishReason::kDeadline) {
        require(ride.said == ride.expected, "a sequence says what it says alone");
      } else {
        require(ride.said.size() <= ride.expected.size() &&
                    std::equal(ride.said.begin(), ride.said.end(), ride.expected.begin()),
                "a sequence that was cut short said a beginning of it");
      }
    }
    std::erase_if(rides_, [](const auto& ride) { return ride.second.over; });
    look();
  }

  void look() {
    auto broken = check(scheduler_);
    if (!broken) broken = ledger_.check(scheduler_);
    if (broken) fail("invariant " + std::to_string(broken->number) + ": " + broken->what);
  }

  Scheduler scheduler_;
  PaperModel model_;
  Bytes next_;
  Journal journal_;
  Ledger ledger_;
  StepResult result_;
  std::map<std::uint64_t, Ride> rides_;
  std::uint64_t last_request_ = 0;
  std::uint64_t planned_ = 0;
  std::uint64_t sampled_ = 0;
  std::int64_t now_ns_ = 0;
  std::string failure_;
};

}  // namespace paternoster::scheduler::testing
