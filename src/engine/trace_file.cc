#include "engine/trace_file.h"

#include <spdlog/spdlog.h>

#include "base/json_writer.h"

namespace paternoster::engine {
namespace {

constexpr int kStepTrack = 1;       // process of the steps and counters
constexpr int kSequenceTracks = 2;  // process whose threads are the sequences

double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1000; }

// The members that every event has; the caller adds its own and ends the object.
void begin(JsonObject& object, const char* phase, std::string_view name, int process, std::uint64_t thread) {
  object.field("ph", phase).field("name", name).field("pid", process).field("tid", thread);
}

std::string naming(const char* what, int process, std::uint64_t thread, std::string_view name) {
  std::string text;
  JsonObject object(text);
  begin(object, "M", what, process, thread);
  JsonObject(object.key("args")).field("name", name).end();
  object.end();
  return text;
}

}  // namespace

Result<std::unique_ptr<TraceFile>> TraceFile::create(const std::filesystem::path& file) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (!out) return failure(ErrorCode::kNotFound, "cannot write the trace to " + file.string());
  return std::unique_ptr<TraceFile>(new TraceFile(std::move(out)));
}

TraceFile::TraceFile(std::ofstream&& file) : file_(std::move(file)) {
  write(naming("process_name", kStepTrack, 0, "engine"));
  write(naming("process_name", kSequenceTracks, 0, "sequences"));
}

void TraceFile::write(std::string&& event) {
  if (bytes_ >= kMostBytes || !file_) return;
  event += '\n';
  bytes_ += event.size() + 1;
  file_ << (first_ ? '[' : ',') << event;
  first_ = false;
  if (bytes_ >= kMostBytes) spdlog::warn("the trace has reached {} bytes and ends here", bytes_);
}

void TraceFile::leave(SequenceId sequence, std::int64_t now_ns) {
  const auto found = riders_.find(sequence);
  if (found == riders_.end() || found->second.span == nullptr) return;
  Rider& rider = found->second;
  std::string text;
  JsonObject object(text);
  begin(object, "X", rider.span, kSequenceTracks, sequence.value);
  object.field("ts", microseconds(rider.since_ns)).field("dur", microseconds(now_ns - rider.since_ns));
  if (rider.reason != scheduler::WaitReason::kNone) {
    JsonObject(object.key("args")).field("reason", scheduler::to_string(rider.reason)).end();
  }
  object.end();
  write(std::move(text));
  rider.span = nullptr;
  rider.reason = scheduler::WaitReason::kNone;
}

void TraceFile::enter(SequenceId sequence, const char* span, std::int64_t now_ns) {
  leave(sequence, now_ns);
  Rider& rider = riders_[sequence];
  rider.span = span;
  rider.since_ns = now_ns;
}

void TraceFile::take(std::span<const scheduler::Event> events, const CallBook& calls) {
  for (const scheduler::Event& event : events) take(event, calls);
}

void TraceFile::take(const scheduler::Event& event, const CallBook& calls) {
  switch (event.kind) {
    case scheduler::EventKind::kAccepted: {
      const CallBook::Call* call = calls.find(event.request);
      for (std::int32_t choice = 0; choice < event.count; ++choice) {
        const SequenceId sequence{event.sequence.value + static_cast<std::uint64_t>(choice)};
        const std::string name = (call == nullptr ? std::string("request") : call->prepared.request_id) +
                                 (event.count > 1 ? " #" + std::to_string(choice) : "");
        write(naming("thread_name", kSequenceTracks, sequence.value, name));
        enter(sequence, "queue", call == nullptr ? event.at_ns : call->prepared.arrived_ns);
      }
      return;
    }
    case scheduler::EventKind::kAdmitted: return enter(event.sequence, "prefill", event.at_ns);
    case scheduler::EventKind::kPreempted: return enter(event.sequence, "preempted", event.at_ns);
    case scheduler::EventKind::kToken: {
      const auto found = riders_.find(event.sequence);
      if (found == riders_.end() || found->second.span == std::string_view("decode")) return;
      return enter(event.sequence, "decode", event.at_ns);
    }
    case scheduler::EventKind::kFinished:
      leave(event.sequence, event.at_ns);
      riders_.erase(event.sequence);
      return;
    default:
      return;  // nothing of a sequence
  }
}

// A wait is cut where its reason changes, so that each piece can be read.
void TraceFile::note_reasons(std::int64_t now_ns, const scheduler::Scheduler& scheduler) {
  scheduler.list_waiting(waiting_);
  for (const scheduler::Waiting& waiting : waiting_) {
    const auto found = riders_.find(waiting.sequence);
    if (found == riders_.end() || found->second.span == nullptr) continue;
    Rider& rider = found->second;
    const bool seated = rider.span == std::string_view("prefill") || rider.span == std::string_view("decode");
    if (seated || rider.reason == waiting.reason) continue;
    if (rider.reason != scheduler::WaitReason::kNone) enter(waiting.sequence, rider.span, now_ns);
    rider.reason = waiting.reason;
  }
}

void TraceFile::write_counters(std::int64_t now_ns, const scheduler::Stats& stats) {
  std::string text;
  JsonObject blocks(text);
  begin(blocks, "C", "KV blocks", kStepTrack, 0);
  blocks.field("ts", microseconds(now_ns));
  JsonObject(blocks.key("args")).field("used", stats.blocks_used).field("cached", stats.blocks_cached).end();
  blocks.end();
  write(std::move(text));
  std::string more;
  JsonObject sequences(more);
  begin(sequences, "C", "sequences", kStepTrack, 0);
  sequences.field("ts", microseconds(now_ns));
  JsonObject(sequences.key("args")).field("running", stats.running).field("waiting", stats.waiting).end();
  sequences.end();
  write(std::move(more));
}

void TraceFile::step(std::int64_t begin_ns, std::int64_t end_ns, const scheduler::Plan& plan,
                     const scheduler::Scheduler& scheduler) {
  const scheduler::Stats stats = scheduler.stats();
  if (!plan.empty()) {
    std::string text;
    JsonObject object(text);
    begin(object, "X", "step", kStepTrack, 1);
    object.field("ts", microseconds(begin_ns)).field("dur", microseconds(end_ns - begin_ns));
    JsonObject(object.key("args"))
        .field("step", plan.step)
        .field("sequences", plan.run.size())
        .field("tokens", plan.tokens.size())
        .field("preempted", plan.preempted.size())
        .end();
    object.end();
    write(std::move(text));
  }
  write_counters(end_ns, stats);
  if (stats.waiting > 0) note_reasons(end_ns, scheduler);
}

}  // namespace paternoster::engine
