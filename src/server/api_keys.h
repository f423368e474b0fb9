// Who may ask, and on which terms: the key file, read at start and again on SIGHUP.
//
// One key a line, then its terms in any order; empty lines and lines that begin with # are left out:
//
//   sk-abc123  name=alice weight=2 concurrent=4 tokens-per-minute=60000 priority=0
//   sk-def456  name=edge gateway
//
// Keys are kept as digests and compared in constant time.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paternoster::server {

struct KeyTerms {
  std::string name;         // in logs, metrics and on the page; never the key itself
  std::int32_t weight = 1;  // of the share under the fair order
  std::int32_t most_concurrent = 0;       // requests at once; 0: no limit
  std::int64_t tokens_per_minute = 0;     // prompt and output; 0: no limit
  // The most urgent priority that it may ask for; more urgent wishes are cut to it.
  std::int32_t most_urgent = std::numeric_limits<std::int32_t>::min();
  bool gateway = false;  // may say on whose behalf it asks
};

class ApiKeys {
 public:
  ApiKeys() = default;  // no keys: everybody may

  // The error names the line. At least one key; names are unique.
  static Result<ApiKeys> read(const std::filesystem::path& file);

  bool required() const { return !keys_.empty(); }
  // `authorization` is a header's value ("Bearer ..."), `api_key` that of x-api-key. Null: no such key.
  // Valid until the keys are read anew.
  const KeyTerms* find(std::string_view authorization, std::string_view api_key) const;

 private:
  using Digest = std::array<unsigned char, 32>;  // SHA-256, so that lengths do not show either
  struct Key {
    Digest digest;
    KeyTerms terms;
  };

  static Digest digest_of(std::string_view key);
  static Result<Key> parse(std::string_view line);

  std::vector<Key> keys_;
};

}  // namespace paternoster::server
