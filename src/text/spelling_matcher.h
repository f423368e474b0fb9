// Finds the spellings of special tokens in text: a trie, leftmost first, longest wins.
//
// Built once, then const and thread-safe. Time per position is bounded by the longest spelling.
// Internal to text/.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/hash_maps.h"

namespace paternoster::text {

class SpellingMatcher {
 public:
  struct Match {
    TokenId id = -1;  // -1: none
    std::size_t length = 0;
  };

  SpellingMatcher() = default;
  // spelling_of(id) for every id; empty spellings are left out, the first of equal ones stays.
  template <typename Ids, typename SpellingOf>
  SpellingMatcher(const Ids& ids, const SpellingOf& spelling_of) {
    std::size_t total = 0;
    for (const TokenId id : ids) total += spelling_of(id).size();
    children_ = PairMap(total);
    for (const TokenId id : ids) add(id, spelling_of(id));
  }

  bool empty() const noexcept { return ends_.size() <= 1; }
  bool may_start(char byte) const noexcept { return starts_[static_cast<unsigned char>(byte)]; }

  // The longest spelling at `offset` for which accept(id, length) holds.
  template <typename Accept>
  Match longest_at(std::string_view text, std::size_t offset, const Accept& accept) const {
    Match best;
    if (!may_start(text[offset])) return best;
    TokenId node = 0;
    for (std::size_t at = offset; at < text.size(); ++at) {
      const Merge* child = children_.find(node, static_cast<unsigned char>(text[at]));
      if (child == nullptr) break;
      node = child->id;
      const TokenId id = ends_[static_cast<std::size_t>(node)];
      const std::size_t length = at + 1 - offset;
      if (id >= 0 && accept(id, length)) best = {id, length};
    }
    return best;
  }

  // How many bytes at the end of `text` are the start, but not the whole, of some spelling.
  std::size_t open_suffix(std::string_view text) const;

 private:
  void add(TokenId id, std::string_view spelling);

  PairMap children_;  // (node, byte) -> node
  std::vector<TokenId> ends_ = std::vector<TokenId>(1, -1);  // by node: the token spelled, or -1
  std::array<bool, 256> starts_{};
  std::size_t longest_ = 0;
};

}  // namespace paternoster::text
