#include "api/live_frame.h"

#include <cmath>

#include "base/json_writer.h"

namespace paternoster::api {
namespace {

const char* state_word(LiveState state) {
  switch (state) {
    case LiveState::kPrefill: return "prefill";
    case LiveState::kDecode: return "decode";
    case LiveState::kWaiting: return "waiting";
    case LiveState::kPreempted: return "preempted";
  }
  return "waiting";
}

void append_sequence(std::string& out, const LiveSequence& sequence) {
  JsonObject object(out);
  object.field("id", sequence.id)
      .field("engine", sequence.engine)
      .field("request", sequence.request)
      .field("tenant", sequence.tenant)
      .field("class", sequence.service_class)
      .field("choice", sequence.choice)
      .field("state", state_word(sequence.state));
  if (*sequence.reason == '\0') {
    object.null("reason");
  } else {
    object.field("reason", sequence.reason);
  }
  object.field("tokens", sequence.tokens)
      .field("computed", sequence.computed)
      .field("prompt", sequence.prompt)
      .field("output", sequence.output)
      .field("max_output", sequence.max_output)
      .end();
}

double rounded(double value) { return std::round(value * 100) / 100; }

}  // namespace

void append_json(std::string& out, const LiveFrame& frame) {
  JsonObject object(out);
  object.field("step", frame.step)
      .field("step_ms", rounded(static_cast<double>(frame.step_ns) / 1e6))
      .field("tokens_per_second", rounded(frame.tokens_per_second))
      .field("running", frame.running)
      .field("waiting", frame.waiting);
  JsonObject(object.key("kv"))
      .field("used", frame.kv_used)
      .field("cached", frame.kv_cached)
      .field("free", frame.kv_free)
      .field("total", frame.kv_used + frame.kv_cached + frame.kv_free)
      .field("block_tokens", frame.kv_block_tokens)
      .end();
  object.key("engines") += '[';
  for (const LiveEngine& engine : frame.engines) {
    if (&engine != frame.engines.data()) out += ',';
    JsonObject(out)
        .field("step", engine.step)
        .field("step_ms", rounded(static_cast<double>(engine.step_ns) / 1e6))
        .field("running", engine.running)
        .field("waiting", engine.waiting)
        .field("kv_used", engine.kv_used)
        .field("kv_total", engine.kv_total)
        .end();
  }
  out += ']';
  object.key("sequences") += '[';
  for (const LiveSequence& sequence : frame.sequences) {
    if (&sequence != frame.sequences.data()) out += ',';
    append_sequence(out, sequence);
  }
  out += ']';
  object.end();
}

}  // namespace paternoster::api
