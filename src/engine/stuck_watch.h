// Notices that somebody waits while nobody runs, which the scheduler promises never lasts (invariant 17), and then
// tells the state once, so that the log says enough to find out why. Belongs to the engine's thread; the time is
// handed in.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "scheduler/scheduler.h"

namespace paternoster::engine {

// What a person calls a request.
using NameRequest = std::function<std::string(RequestId)>;

class StuckWatch {
 public:
  static constexpr std::int64_t kPatienceNs = 5'000'000'000;

  // A plan was empty. The state in words, once, when it has been so for longer than kPatienceNs.
  std::optional<std::string> nothing_ran(const scheduler::Scheduler& scheduler, std::int64_t now_ns,
                                         const NameRequest& name);
  void stepped();

 private:
  std::optional<std::int64_t> since_ns_;
  bool told_ = false;
};

// Who waits for what, and where the blocks are; at most 20 of them.
std::string describe(const scheduler::Scheduler& scheduler, const NameRequest& name);

}  // namespace paternoster::engine
