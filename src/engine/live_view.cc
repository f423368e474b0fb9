#include "engine/live_view.h"

#include <optional>

namespace paternoster::engine {
namespace {

constexpr std::int64_t kRateWindowNs = 500'000'000;

std::optional<api::LiveSequence> row_of(SequenceId sequence, const CallBook& calls) {
  const CallBook::Rider* rider = calls.find(sequence);
  if (rider == nullptr) return std::nullopt;  // it ended in this very step
  const CallBook::Call& call = *rider->call;
  api::LiveSequence row;
  // A slice is of a rider that goes on elsewhere: it keeps the number that it has there too.
  row.id = call.prepared.slice_tokens > 0 ? call.prepared.call.value : sequence.value;
  row.request = call.prepared.request_id;
  row.tenant = call.prepared.standing.tenant;
  row.service_class = api::to_string(api::class_of(call.prepared.standing.priority));
  row.choice = call.prepared.choice + rider->choice;
  row.prompt = call.usage.prompt_tokens;
  row.output = call.choices[static_cast<std::size_t>(rider->choice)].output;
  row.max_output = call.prepared.max_tokens;
  return row;
}

}  // namespace

void LiveView::add_riders(const scheduler::Plan& plan, const CallBook& calls,
                          api::LiveFrame& frame) const {
  for (const scheduler::RunEntry& entry : plan.run) {
    if (frame.sequences.size() >= kMostRows) return;
    auto row = row_of(entry.sequence, calls);
    if (!row) continue;
    row->tokens = static_cast<std::int32_t>(entry.token_count);
    row->computed = entry.first_position + static_cast<std::int32_t>(entry.known_count());
    // What is computed again after a preemption is prefill too, though it is partly output.
    const bool decodes = entry.known_count() == 1 && entry.first_position >= row->prompt;
    row->state = decodes ? api::LiveState::kDecode : api::LiveState::kPrefill;
    frame.sequences.push_back(std::move(*row));
  }
}

void LiveView::add_waiting(const scheduler::Scheduler& scheduler, const CallBook& calls,
                           api::LiveFrame& frame) {
  scheduler.list_waiting(waiting_);
  for (const scheduler::Waiting& waiting : waiting_) {
    if (frame.sequences.size() >= kMostRows) return;
    auto row = row_of(waiting.sequence, calls);
    if (!row) continue;
    row->reason = scheduler::to_string(waiting.reason);
    row->state = waiting.reason == scheduler::WaitReason::kPreempted ? api::LiveState::kPreempted
                                                                     : api::LiveState::kWaiting;
    frame.sequences.push_back(std::move(*row));
  }
}

double LiveView::rate(std::int64_t now_ns, std::uint64_t tokens) {
  const std::int64_t passed_ns = now_ns - rate_since_ns_;
  if (passed_ns >= kRateWindowNs) {
    rate_ = static_cast<double>(tokens - rate_tokens_) * 1e9 / static_cast<double>(passed_ns);
    rate_since_ns_ = now_ns;
    rate_tokens_ = tokens;
  }
  return rate_;
}

api::LiveFrame LiveView::make(std::int64_t now_ns, std::int64_t step_ns, const scheduler::Plan* plan,
                              const scheduler::Scheduler& scheduler, const CallBook& calls) {
  last_frame_ns_ = now_ns;
  const scheduler::Stats stats = scheduler.stats();
  api::LiveFrame frame;
  frame.step = stats.steps;
  frame.step_ns = step_ns;
  frame.tokens_per_second = stats.running + stats.waiting == 0 ? 0.0 : rate(now_ns, stats.tokens_sampled);
  frame.running = stats.running;
  frame.waiting = stats.waiting;
  frame.kv_used = stats.blocks_used;
  frame.kv_cached = stats.blocks_cached;
  frame.kv_free = stats.blocks_free;
  frame.kv_block_tokens = scheduler.config().limits.block_size;
  if (plan != nullptr) add_riders(*plan, calls, frame);
  add_waiting(scheduler, calls, frame);
  return frame;
}

}  // namespace paternoster::engine
