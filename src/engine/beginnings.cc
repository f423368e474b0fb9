#include "engine/beginnings.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace paternoster::engine {
namespace {

// Gathers bytes into blocks, and chains their digests.
class Chain {
 public:
  explicit Chain(std::uint64_t seed) : digest_(seed) {}

  void add(std::string_view bytes) {
    while (!bytes.empty() && chain_.size() < kMostBeginnings) {
      const std::size_t part = std::min(bytes.size(), kBeginningBytes - block_.size());
      block_.append(bytes.substr(0, part));
      bytes.remove_prefix(part);
      if (block_.size() < kBeginningBytes) return;
      digest_ = XXH3_64bits_withSeed(block_.data(), block_.size(), digest_);
      chain_.push_back(digest_);
      block_.clear();
    }
  }

  std::vector<std::uint64_t> take() { return std::move(chain_); }

 private:
  std::uint64_t digest_;
  std::string block_;
  std::vector<std::uint64_t> chain_;
};

std::string_view bytes_of(const std::vector<TokenId>& tokens) {
  return {reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(TokenId)};
}

}  // namespace

Beginnings beginnings_of(const api::Generation& generation) {
  Beginnings found;
  const std::string& owner = generation.standing.owner;
  const std::string& salt = generation.cache_salt;
  Chain chain(XXH3_64bits_withSeed(salt.data(), salt.size(), XXH3_64bits(owner.data(), owner.size())));
  if (const auto* chat = std::get_if<api::ChatPrompt>(&generation.prompt)) {
    chain.add(chat->template_json);  // tools and the like come first in most templates
    found.bytes += static_cast<std::int64_t>(chat->template_json.size());
    for (const api::Message& message : chat->messages) {
      for (const std::string* part : {&message.role, &message.content, &message.extra_json}) {
        chain.add(*part);
        chain.add(std::string_view("\0", 1));
        found.bytes += static_cast<std::int64_t>(part->size());
      }
    }
  } else if (const auto* text = std::get_if<api::TextPrompt>(&generation.prompt)) {
    chain.add(text->text);
    found.bytes = static_cast<std::int64_t>(text->text.size());
  } else {
    const auto& tokens = std::get<api::TokenPrompt>(generation.prompt).tokens;
    chain.add(bytes_of(tokens));
    found.tokens = static_cast<std::int64_t>(tokens.size());
  }
  found.chain = chain.take();
  return found;
}

}  // namespace paternoster::engine
