#include "text/spelling_matcher.h"

#include <algorithm>

namespace paternoster::text {

void SpellingMatcher::add(TokenId id, std::string_view spelling) {
  if (spelling.empty()) return;
  starts_[static_cast<unsigned char>(spelling[0])] = true;
  longest_ = std::max(longest_, spelling.size());
  TokenId node = 0;
  for (const char character : spelling) {
    const TokenId byte = static_cast<unsigned char>(character);
    const Merge* child = children_.find(node, byte);
    if (child != nullptr) {
      node = child->id;
      continue;
    }
    const auto created = static_cast<TokenId>(ends_.size());
    ends_.push_back(-1);
    children_.insert(node, byte, {0, created});
    node = created;
  }
  TokenId& end = ends_[static_cast<std::size_t>(node)];
  if (end < 0) end = id;
}

std::size_t SpellingMatcher::open_suffix(std::string_view text) const {
  const std::size_t first = text.size() - std::min(text.size(), longest_);
  for (std::size_t begin = first; begin < text.size(); ++begin) {
    if (!may_start(text[begin])) continue;
    TokenId node = 0;
    std::size_t at = begin;
    for (; at < text.size(); ++at) {
      const Merge* child = children_.find(node, static_cast<unsigned char>(text[at]));
      if (child == nullptr) break;
      node = child->id;
    }
    if (at == text.size()) return text.size() - begin;
  }
  return 0;
}

}  // namespace paternoster::text
