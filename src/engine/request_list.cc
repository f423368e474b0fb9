#include "engine/request_list.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace paternoster::engine {
namespace {

bool goes_by_class(const scheduler::Scheduler& scheduler) {
  return scheduler.config().choices.order == scheduler::Order::kPriority;
}

using Reasons = std::unordered_map<SequenceId, scheduler::WaitReason>;

Reasons reasons_of(const scheduler::Scheduler& scheduler) {
  std::vector<scheduler::Waiting> waiting;
  scheduler.list_waiting(waiting);
  Reasons reasons;
  for (const scheduler::Waiting& one : waiting) reasons[one.sequence] = one.reason;
  return reasons;
}

api::ChoiceStatus status_of(const CallBook::Call& call, std::int32_t number, const Reasons& reasons) {
  const CallBook::Choice& choice = call.choices[static_cast<std::size_t>(number)];
  api::ChoiceStatus status;
  status.choice = call.prepared.choice + number;
  status.output = choice.output;
  const SequenceId sequence{call.first_sequence.value + static_cast<std::uint64_t>(number)};
  const auto waiting = reasons.find(sequence);
  if (choice.over) {
    status.state = "finished";
  } else if (waiting == reasons.end()) {
    status.state = choice.output > 0 ? "decode" : "prefill";
  } else {
    status.state = call.timings.preemptions > 0 ? "preempted" : "waiting";
    if (waiting->second != scheduler::WaitReason::kNone) status.reason = scheduler::to_string(waiting->second);
  }
  return status;
}

api::RequestStatus status_of(const CallBook::Call& call, std::int64_t now_ns, const Reasons& reasons) {
  api::RequestStatus status = common_status(call.prepared, call.usage, now_ns);
  status.preemptions = call.timings.preemptions;
  for (std::size_t choice = 0; choice < call.choices.size(); ++choice) {
    status.choices.push_back(status_of(call, static_cast<std::int32_t>(choice), reasons));
  }
  return status;
}

}  // namespace

api::RequestStatus common_status(const PreparedCall& prepared, const api::Usage& usage, std::int64_t now_ns) {
  api::RequestStatus status;
  status.call = prepared.call.value;
  status.request_id = prepared.request_id;
  status.standing = prepared.standing;
  status.age_ns = now_ns - prepared.arrived_ns;
  if (prepared.deadline_ns() != 0) status.deadline_in_ns = prepared.deadline_ns() - now_ns;
  status.prompt = usage.prompt_tokens;
  status.cached = usage.cached_tokens;
  status.max_output = prepared.max_tokens;
  return status;
}

std::int32_t requests_ahead(const CallBook& calls, const scheduler::Scheduler& scheduler, std::int32_t priority) {
  if (!goes_by_class(scheduler)) return scheduler.stats().queued_requests;
  return static_cast<std::int32_t>(std::ranges::count_if(calls.all(), [&](const auto& entry) {
    const CallBook::Call& call = *entry.second;
    return call.boarded_ns == 0 && call.accepted && call.prepared.standing.priority <= priority;
  }));
}

std::vector<api::RequestStatus> list_requests(const CallBook& calls, const scheduler::Scheduler& scheduler,
                                              std::int64_t now_ns, const EstimateWait& wait_ns) {
  const Reasons reasons = reasons_of(scheduler);
  std::vector<const CallBook::Call*> ordered;
  for (const auto& [id, call] : calls.all()) ordered.push_back(call.get());
  const bool by_class = goes_by_class(scheduler);
  std::ranges::sort(ordered, {}, [&](const CallBook::Call* call) {
    return std::pair(by_class ? call->prepared.standing.priority : 0, call->prepared.call);
  });
  std::vector<api::RequestStatus> list;
  std::int32_t ahead = 0;
  for (const CallBook::Call* call : ordered) {
    api::RequestStatus& status = list.emplace_back(status_of(*call, now_ns, reasons));
    if (call->boarded_ns != 0) continue;
    status.ahead = ahead++;
    status.starts_in_ns = wait_ns(*status.ahead);
  }
  return list;
}

void append_unread(std::vector<api::RequestStatus>& list, std::vector<api::RequestStatus>&& unread) {
  const std::size_t known = list.size();
  for (api::RequestStatus& one : unread) {
    const auto same = [&one](const api::RequestStatus& other) { return other.call == one.call; };
    const auto end = list.begin() + static_cast<std::ptrdiff_t>(known);
    if (std::find_if(list.begin(), end, same) == end) list.push_back(std::move(one));
  }
}

}  // namespace paternoster::engine
