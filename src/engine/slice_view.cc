// What others see of a slice loop: its calls one by one, and the frames of its engines together.
#include <algorithm>
#include <utility>

#include "engine/request_list.h"
#include "engine/slice_loop.h"

namespace paternoster::engine {
namespace {

constexpr std::size_t kMostRows = 256;

}  // namespace

const char* SliceLoop::reason() const {
  const fleet::Plan& plan = fleet_.last_plan();
  return plan.reason == fleet::WaitReason::kNone ? "" : fleet::to_string(plan.reason);
}

void SliceLoop::handle(ListRequests& asked) {
  std::vector<api::RequestStatus> list;
  std::vector<const SliceBook::Call*> ordered;
  for (const auto& [id, call] : book_.all()) ordered.push_back(call.get());
  std::ranges::sort(ordered, {}, [](const SliceBook::Call* call) { return call->prepared.call; });
  std::int32_t ahead = 0;
  for (const SliceBook::Call* call : ordered) {
    api::RequestStatus& status = list.emplace_back(status_of(*call));
    if (call->boarded_ns != 0) continue;
    status.ahead = ahead++;
    if (metrics_ != nullptr) status.starts_in_ns = metrics_->expected_wait_ns(*status.ahead);
  }
  append_unread(list, std::move(asked.unread));
  const std::lock_guard lock(outlet_mutex_);
  if (outlet_ != nullptr) outlet_->list(std::move(list));
}

api::RequestStatus SliceLoop::status_of(const SliceBook::Call& call) const {
  api::RequestStatus status = common_status(call.prepared, call.usage, now_ns_);
  if (call.boarded_ns != 0) status.engine = static_cast<std::int32_t>(call.choices.front().engine);
  for (const SliceBook::Choice& choice : call.choices) {
    api::ChoiceStatus& one = status.choices.emplace_back();
    one.choice = static_cast<std::int32_t>(&choice - call.choices.data());
    one.output = choice.output();
    if (choice.over) {
      one.state = "finished";
    } else if (choice.sent) {
      one.state = choice.output() > 0 ? "decode" : "prefill";
    } else {
      one.reason = batch_of_.contains(choice.rider) ? "engine_busy" : reason();
    }
  }
  return status;
}

void SliceLoop::handle(EngineFrame& told) {
  auto together = board_.take(told.engine, std::move(told.frame), now_ns_);
  if (!together) return;
  add_waiting(*together);
  const std::lock_guard lock(outlet_mutex_);
  if (outlet_ != nullptr) outlet_->show(std::move(*together));
}

// Who is in the pool, or in front of a busy engine.
void SliceLoop::add_waiting(api::LiveFrame& frame) const {
  for (const auto& [id, call] : book_.all()) {
    for (const SliceBook::Choice& choice : call->choices) {
      if (choice.over || choice.sent) continue;
      ++frame.waiting;
      if (frame.sequences.size() >= kMostRows) continue;
      api::LiveSequence& row = frame.sequences.emplace_back();
      row.id = choice.rider.value;
      row.engine = static_cast<std::int32_t>(choice.engine);
      row.request = call->prepared.request_id;
      row.tenant = call->prepared.standing.tenant;
      row.service_class = api::to_string(api::class_of(call->prepared.standing.priority));
      row.choice = static_cast<std::int32_t>(&choice - call->choices.data());
      row.reason = batch_of_.contains(choice.rider) ? "engine_busy" : reason();
      row.prompt = call->usage.prompt_tokens;
      row.output = choice.output();
      row.max_output = call->prepared.max_tokens;
    }
  }
}

}  // namespace paternoster::engine
