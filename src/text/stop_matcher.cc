#include "text/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace paternoster::text {

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}

// The match that begins first in what is held; of those the one that ends first.
std::optional<StopMatcher::Match> StopMatcher::find_in_held() const {
  std::optional<Match> best;
  for (std::size_t i = 0; i < stops_.size(); ++i) {
    if (stops_[i].empty()) continue;
    const std::size_t found = held_.find(stops_[i]);
    if (found == std::string::npos) continue;
    const bool better = !best || found < best->offset ||
                        (found == best->offset && stops_[i].size() < stops_[best->index].size());
    if (better) best = Match{i, found};
  }
  return best;
}

// How many bytes of what is held no stop string can begin in any more.
std::size_t StopMatcher::certain_prefix() const {
  std::size_t certain = held_.size();
  for (const std::string& stop : stops_) {
    if (stop.empty()) continue;
    const std::size_t longest = std::min(stop.size() - 1, held_.size());
    for (std::size_t length = longest; length > held_.size() - certain; --length) {
      const std::string_view end = std::string_view(held_).substr(held_.size() - length);
      if (std::string_view(stop).starts_with(end)) {
        certain = held_.size() - length;
        break;
      }
    }
  }
  return certain;
}

std::optional<StopMatcher::Match> StopMatcher::push(std::string_view text, std::string& out,
                                                    bool include_stop) {
  if (match_) return match_;
  held_.append(text);
  auto found = find_in_held();
  const std::size_t certain = certain_prefix();
  // A stop string that began earlier and may still become complete goes first.
  if (found && found->offset <= certain) {
    const std::size_t end = found->offset + (include_stop ? stops_[found->index].size() : 0);
    out.append(held_, 0, end);
    match_ = Match{found->index, given_ + found->offset};
    held_.clear();
    return match_;
  }
  out.append(held_, 0, certain);
  held_.erase(0, certain);
  given_ += certain;
  return std::nullopt;
}

std::string StopMatcher::flush() {
  std::string out;
  if (match_) return out;
  // No more text comes: an earlier one stayed incomplete, so a complete one behind it counts.
  if (auto found = find_in_held()) {
    out.assign(held_, 0, found->offset);
    match_ = Match{found->index, given_ + found->offset};
  } else {
    out = held_;
    given_ += held_.size();
  }
  held_.clear();
  return out;
}

}  // namespace paternoster::text
