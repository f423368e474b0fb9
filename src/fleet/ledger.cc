// Invariants over time: the Ledger of check.h.
#include "fleet/check.h"

#include <algorithm>

namespace paternoster::fleet {

void Ledger::broken(int number, const char* what, std::uint64_t id) {
  if (!violation_) violation_ = Violation{number, std::string(what) + " (" + std::to_string(id) + ")"};
}

void Ledger::submitted(const Request& request) {
  rides_[request.id.value] = {request.prompt_tokens, request.max_tokens, 0, 0, false, false};
}

void Ledger::told(std::span<const Event> events) {
  for (const Event& event : events) tell(event);
}

// 8: a request is answered once and ends once, and is silent afterwards. 9: what it has said only
// grows, and stays within its limit.
void Ledger::tell(const Event& event) {
  const auto found = rides_.find(event.request.value);
  if (found == rides_.end()) return broken(8, "nobody is told of who is not live", event.request.value);
  Ride& ride = found->second;
  const bool answer = event.kind == EventKind::kAccepted || event.kind == EventKind::kRefused;
  if (ride.answered == answer) broken(8, "answered once, first", event.request.value);
  ride.answered = true;
  if (event.kind == EventKind::kRefused || event.kind == EventKind::kFinished) {
    if (event.kind == EventKind::kFinished && (event.tokens < ride.tokens || event.tokens > ride.most)) {
      broken(9, "output grows within its limit", event.request.value);
    }
    if (event.finish == FinishReason::kLength && event.tokens != ride.most) {
      broken(9, "finished for length at its limit", event.request.value);
    }
    rides_.erase(found);
    return;
  }
  if (event.kind == EventKind::kAccepted) return;
  if (!ride.sent) broken(8, "a slice that was sent ends once", event.request.value);
  ride.sent = false;
  if (event.tokens < ride.tokens || event.tokens >= ride.most) {
    broken(9, "output grows within its limit", event.request.value);
  }
  ride.tokens = event.tokens;
}

// 10: work goes to the living, and each member continues where it was.
void Ledger::look(const Fleet& fleet, const Batch& batch) {
  if (fleet.stats(batch.instance).state != InstanceState::kAlive) {
    broken(10, "only the living get work", batch.id.value);
  }
  std::int32_t longest = 0;
  std::int32_t most = 0;
  for (const Member& member : fleet.last_plan().members_of(batch)) {
    const auto found = rides_.find(member.request.value);
    if (found == rides_.end() || found->second.sent) {
      broken(10, "who waits is sent, once", member.request.value);
      continue;
    }
    Ride& ride = found->second;
    ride.sent = true;
    ++ride.slices;
    if (member.output_tokens != ride.tokens || member.input_tokens != ride.prompt + ride.tokens) {
      broken(10, "a member continues where it was", member.request.value);
    }
    longest = std::max(longest, member.input_tokens);
    most = std::max(most, member.most_tokens);
  }
  if (batch.padded_input != longest || batch.iterations != most) {
    broken(10, "a batch is as long as its longest", batch.id.value);
  }
}

// 11: everyone who waits has a reason, and an interval ends when it was said to. 12: progress: if
// somebody waits, nobody runs and an engine takes work, then an interval runs.
void Ledger::planned(const Fleet& fleet, std::int64_t now_ns) {
  const Plan& plan = fleet.last_plan();
  for (const Batch& batch : plan.batches) look(fleet, batch);
  const Stats stats = fleet.stats();
  if (plan.waiting != stats.pool || (plan.waiting > 0) == (plan.reason == WaitReason::kNone)) {
    broken(11, "everyone who waits has a reason", plan.number);
  }
  const bool interval = plan.reason == WaitReason::kInterval;
  if (interval && (plan.next_ns <= now_ns || (interval_ns_ != 0 && plan.next_ns != interval_ns_))) {
    broken(11, "an interval ends when it was said to", plan.number);
  }
  interval_ns_ = interval ? plan.next_ns : 0;
  bool alive = false;
  for (std::uint32_t at = 0; at < static_cast<std::uint32_t>(fleet.config().limits.instances); ++at) {
    alive = alive || fleet.stats(InstanceId{at}).state == InstanceState::kAlive;
  }
  if (alive && !interval && stats.pool > 0 && stats.batches == 0) {
    broken(12, "somebody waits, nobody runs, nothing was sent", plan.number);
  }
}

std::optional<Violation> Ledger::check(const Fleet& fleet) const {
  if (violation_) return violation_;
  std::size_t live = 0;
  for (const auto& [id, ride] : rides_) {
    live += ride.answered ? 1 : 0;
    if (ride.answered && !fleet.live(RequestId{id})) return Violation{8, "live until its end"};
  }
  const Stats stats = fleet.stats();
  if (live != static_cast<std::size_t>(stats.pool + stats.running)) return Violation{8, "live requests are known"};
  return std::nullopt;
}

}  // namespace paternoster::fleet
