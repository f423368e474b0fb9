#include "simulator/perfetto.h"

#include <algorithm>

#include "base/json_writer.h"

namespace paternoster::simulator {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;

double us(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

}  // namespace

Result<PerfettoWriter> PerfettoWriter::create(const std::string& path) {
  PerfettoWriter writer(path);
  if (!writer.out_) return failure(ErrorCode::kUnavailable, "cannot write the trace " + path);
  return writer;
}

PerfettoWriter::PerfettoWriter(const std::string& path) : path_(path), out_(path, std::ios::binary) {
  text_ = R"({"displayTimeUnit":"ms","traceEvents":[)"
          R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"engine"}},)"
          R"({"ph":"M","pid":2,"name":"process_name","args":{"name":"requests"}})";
}

void PerfettoWriter::counter(const char* name, std::int64_t at_ns, double value) {
  text_ += ",\n";
  JsonObject event(text_);
  event.field("ph", "C").field("pid", 1).field("name", name).field("ts", us(at_ns));
  JsonObject args(event.key("args"));
  args.field("value", value).end();
  event.end();
}

void PerfettoWriter::step(const StepSeen& step) {
  text_ += ",\n";
  JsonObject event(text_);
  event.field("ph", "X").field("pid", 1).field("tid", step.instance).field("name", "step");
  event.field("ts", us(step.begin_ns)).field("dur", us(step.end_ns - step.begin_ns));
  JsonObject args(event.key("args"));
  args.field("prompt_tokens", step.load.prompt_tokens)
      .field("decode_tokens", step.load.decode_tokens)
      .field("preempted", step.plan.preempted.size())
      .end();
  event.end();
  counter("running", step.end_ns, step.running);
  counter("waiting", step.end_ns, step.waiting);
  counter("kv_used", step.end_ns, step.kv_used);
  flush(kBuffer);
}

// Records come in order of their ends, so a lane that was free at the beginning is looked for.
std::uint64_t PerfettoWriter::lane_for(std::int64_t begin_ns, std::int64_t end_ns) {
  auto lane = std::ranges::find_if(lanes_, [&](std::int64_t free_ns) { return free_ns <= begin_ns; });
  if (lane == lanes_.end()) lane = lanes_.insert(lane, 0);
  *lane = end_ns;
  return static_cast<std::uint64_t>(lane - lanes_.begin()) + 1;
}

void PerfettoWriter::slice(const char* name, std::uint64_t lane, std::int64_t begin_ns, std::int64_t end_ns,
                           const measure::RequestRecord& record) {
  text_ += ",\n";
  JsonObject event(text_);
  event.field("ph", "X").field("pid", 2).field("tid", lane).field("name", name);
  event.field("ts", us(begin_ns)).field("dur", us(end_ns - begin_ns));
  JsonObject args(event.key("args"));
  args.field("request", record.id)
      .field("input_tokens", record.input_tokens)
      .field("output_tokens", record.output_tokens)
      .field("preemptions", record.preemptions);
  if (!record.class_name.empty()) args.field("class", record.class_name);
  args.end();
  event.end();
}

void PerfettoWriter::request(const measure::RequestRecord& record) {
  const std::uint64_t lane = lane_for(record.scheduled_ns, record.ended_ns);
  if (record.admitted_ns < 0) {
    slice(to_string(record.status), lane, record.scheduled_ns, record.ended_ns, record);
  } else {
    slice("queue", lane, record.scheduled_ns, record.admitted_ns, record);
    const bool spoke = record.first_token_ns >= 0;
    slice("prefill", lane, record.admitted_ns, spoke ? record.first_token_ns : record.ended_ns, record);
    if (spoke) slice("decode", lane, record.first_token_ns, record.last_token_ns, record);
  }
  flush(kBuffer);
}

void PerfettoWriter::flush(std::size_t above) {
  if (text_.size() < above) return;
  out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
  text_.clear();
}

Result<void> PerfettoWriter::finish() {
  text_ += "]}\n";
  flush(0);
  out_.close();
  if (!out_) return failure(ErrorCode::kUnavailable, "cannot write all of the trace " + path_);
  return {};
}

}  // namespace paternoster::simulator
