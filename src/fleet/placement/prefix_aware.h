// To the engine that knows most of the prompt, unless its load exceeds the average by more than the
// slack: then to the next best. So a popular prefix cannot drown one engine while others idle
// (Mirrokni, Thorup, Zadimoghaddam, "Consistent Hashing with Bounded Loads", SODA'18: no load above
// (1 + slack) times the average, the new batch counted, plus the batch itself).
//
// What nobody knows goes to the least loaded; among equals to the one that rendezvous hashing names,
// so that a beginning comes back to where it was though it has been forgotten here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fleet/placement/max_min.h"
#include "fleet/placement/view.h"
#include "scheduler/mix.h"

namespace paternoster::fleet::placement {

struct PrefixAware {
  // (1 + slack) (total + estimate) / engines, rounded up engine by engine; in parts, so that nothing
  // overflows: loads may be 2^60.
  static std::int64_t bound_ns(const View& view) {
    const auto engines = static_cast<std::int64_t>(view.engines.size());
    std::int64_t average_ns = (view.estimate_ns + engines - 1) / engines;
    for (const Engine& engine : view.engines) average_ns += (engine.load_ns + engines - 1) / engines;
    return average_ns + average_ns / 1000 * view.slack_permille +
           average_ns % 1000 * view.slack_permille / 1000;
  }

  static std::uint64_t rendezvous(const View& view, const Engine& engine) {
    return scheduler::mix(view.beginning, std::uint64_t{engine.id.value} + 1);
  }

  static bool better(const View& view, const Engine& a, const Engine& b) {
    if (a.known_blocks != b.known_blocks) return a.known_blocks > b.known_blocks;
    if (MaxMin::less(a, b) || MaxMin::less(b, a)) return MaxMin::less(a, b);
    return rendezvous(view, a) > rendezvous(view, b);
  }

  static std::size_t choose(const View& view) {
    const std::size_t least = MaxMin::choose(view);
    if (view.beginning == 0) return least;
    const std::int64_t most_ns = bound_ns(view);
    std::size_t best = least;
    for (std::size_t at = 0; at < view.engines.size(); ++at) {
      const bool eligible = view.engines[at].load_ns <= most_ns;
      if (eligible && better(view, view.engines[at], view.engines[best])) best = at;
    }
    return best;
  }
};

}  // namespace paternoster::fleet::placement
