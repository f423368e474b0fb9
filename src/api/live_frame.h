// One look at the lift: who rode in a step, and why the others waited. Made by a backend while someone
// watches, shown by the page (docs/api.md, GET /live).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paternoster::api {

enum class LiveState : std::uint8_t { kPrefill, kDecode, kWaiting, kPreempted };

struct LiveSequence {
  std::uint64_t id = 0;
  std::int32_t engine = 0;  // which of LiveFrame::engines has it
  std::string request;  // Generation::request_id
  std::string tenant;   // empty: nobody in particular
  const char* service_class = "default";
  std::int32_t choice = 0;
  LiveState state = LiveState::kWaiting;
  const char* reason = "";   // why it waits, a word of the scheduler's; static storage
  std::int32_t tokens = 0;   // computed in this step
  std::int32_t computed = 0;  // in the KV cache after it
  std::int32_t prompt = 0;
  std::int32_t output = 0;
  std::int32_t max_output = 0;
};

// One of several engines that are shown together.
struct LiveEngine {
  std::uint64_t step = 0;
  std::int64_t step_ns = 0;
  std::int32_t running = 0;
  std::int32_t waiting = 0;
  std::int32_t kv_used = 0;  // blocks
  std::int32_t kv_total = 0;
};

struct LiveFrame {
  std::uint64_t step = 0;
  std::int64_t step_ns = 0;
  double tokens_per_second = 0;  // lately, all sequences
  std::int32_t running = 0;
  std::int32_t waiting = 0;
  std::int32_t kv_used = 0;  // blocks
  std::int32_t kv_cached = 0;
  std::int32_t kv_free = 0;
  std::int32_t kv_block_tokens = 0;
  std::vector<LiveEngine> engines;      // empty: there is one, and the frame is its
  std::vector<LiveSequence> sequences;  // the first few hundred are enough
};

// The frame as JSON, on one line.
void append_json(std::string& out, const LiveFrame& frame);

}  // namespace paternoster::api
