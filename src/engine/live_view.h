// Makes the frames of the live feed: who rode in the last step and why the others waited.
//
// One thread, the engine's; at most a frame every kFrameInterval, and one more when all fall silent.
#pragma once

#include <cstdint>
#include <vector>

#include "api/live_frame.h"
#include "engine/call_book.h"
#include "scheduler/plan.h"
#include "scheduler/scheduler.h"

namespace paternoster::engine {

class LiveView {
 public:
  static constexpr std::int64_t kFrameIntervalNs = 50'000'000;

  bool due(std::int64_t now_ns) const { return now_ns - last_frame_ns_ >= kFrameIntervalNs; }

  // plan: the last one, already committed; null when nothing ran.
  api::LiveFrame make(std::int64_t now_ns, std::int64_t step_ns, const scheduler::Plan* plan,
                      const scheduler::Scheduler& scheduler, const CallBook& calls);

 private:
  void add_riders(const scheduler::Plan& plan, const CallBook& calls, api::LiveFrame& frame) const;
  void add_waiting(const scheduler::Scheduler& scheduler, const CallBook& calls, api::LiveFrame& frame);
  double rate(std::int64_t now_ns, std::uint64_t tokens);

  static constexpr std::size_t kMostRows = 256;

  std::int64_t last_frame_ns_ = 0;
  std::int64_t rate_since_ns_ = 0;
  std::uint64_t rate_tokens_ = 0;
  double rate_ = 0;
  std::vector<scheduler::Waiting> waiting_;
};

}  // namespace paternoster::engine
