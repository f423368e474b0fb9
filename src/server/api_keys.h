// Who may ask: a set of keys, compared in constant time.
#pragma once

#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paternoster::server {

class ApiKeys {
 public:
  ApiKeys() = default;  // no keys: everybody may

  // One key a line; empty lines and lines that begin with # are left out. At least one key.
  static Result<ApiKeys> read(const std::filesystem::path& file);

  bool required() const { return !digests_.empty(); }
  // `authorization` is a header's value ("Bearer ..."), `api_key` that of x-api-key.
  bool accept(std::string_view authorization, std::string_view api_key) const;

 private:
  using Digest = std::array<unsigned char, 32>;

  static Digest digest_of(std::string_view key);

  std::vector<Digest> digests_;  // SHA-256, so that lengths do not show either
};

}  // namespace paternoster::server
