#include "engine/stuck_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace paternoster::engine {

std::optional<std::string> StuckWatch::nothing_ran(const scheduler::Scheduler& scheduler, std::int64_t now_ns,
                                                   const NameRequest& name) {
  if (scheduler.idle() || scheduler.last_plan().again_ns != 0) {  // a boarding window ends by itself
    stepped();
    return std::nullopt;
  }
  if (!since_ns_) since_ns_ = now_ns;
  if (told_ || now_ns - *since_ns_ <= kPatienceNs) return std::nullopt;
  told_ = true;
  return describe(scheduler, name);
}

void StuckWatch::stepped() {
  since_ns_.reset();
  told_ = false;
}

std::string describe(const scheduler::Scheduler& scheduler, const NameRequest& name) {
  const scheduler::Stats stats = scheduler.stats();
  std::string text = fmt::format("{} run, {} wait ({} parked); blocks: {} used, {} cached, {} free, {} reserved",
                                 stats.running, stats.waiting, stats.parked, stats.blocks_used, stats.blocks_cached,
                                 stats.blocks_free, stats.blocks_reserved);
  std::vector<scheduler::Waiting> waiting;
  scheduler.list_waiting(waiting);
  constexpr std::size_t kMost = 20;
  for (std::size_t i = 0; i < std::min(waiting.size(), kMost); ++i) {
    text += fmt::format("\n  sequence {} of {} waits: {}", waiting[i].sequence.value, name(waiting[i].request),
                        scheduler::to_string(waiting[i].reason));
  }
  return text;
}

}  // namespace paternoster::engine
