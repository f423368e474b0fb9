// Finds stop strings in a text that arrives in parts.
//
// Gives out text as soon as no stop string can begin in it; holds back only the longest end that
// might still become one. The first stop string to begin wins, and of those that begin together the
// first to be complete. One per sequence; plain value, may be copied. push never loses a byte:
// everything pushed is either given out, held, or at and after the stop that was found.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paternoster::text {

class StopMatcher {
 public:
  struct Match {
    std::size_t index;   // which stop string
    std::size_t offset;  // where it begins, in bytes of the whole text
  };

  StopMatcher() = default;  // no stop strings: gives out everything at once
  // Empty strings are ignored (they would stop at once).
  explicit StopMatcher(std::vector<std::string> stops);

  // Appends to `out` what is certain. After a match nothing more is taken or given.
  // With `include_stop`, the stop string that was found is given out as well.
  std::optional<Match> push(std::string_view text, std::string& out, bool include_stop = false);

  // The end of the text without a match: gives out what was held.
  std::string flush();

  const std::optional<Match>& match() const { return match_; }
  std::size_t held() const { return held_.size(); }

 private:
  std::optional<Match> find_in_held() const;
  std::size_t certain_prefix() const;

  std::vector<std::string> stops_;
  std::string held_;
  std::size_t given_ = 0;  // bytes of the whole text before held_
  std::optional<Match> match_;
};

}  // namespace paternoster::text
