#include "server/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <fstream>

namespace paternoster::server {

ApiKeys::Digest ApiKeys::digest_of(std::string_view key) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  return digest;
}

Result<ApiKeys> ApiKeys::read(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) return failure(ErrorCode::kNotFound, "cannot read the API key file " + file.string());
  ApiKeys keys;
  std::string line;
  while (std::getline(in, line)) {
    const auto first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    const auto last = line.find_last_not_of(" \t\r");
    keys.digests_.push_back(digest_of(std::string_view(line).substr(first, last - first + 1)));
  }
  if (keys.digests_.empty()) {
    return failure(ErrorCode::kInvalidFile, "there is no key in the API key file " + file.string());
  }
  return keys;
}

bool ApiKeys::accept(std::string_view authorization, std::string_view api_key) const {
  if (!required()) return true;
  constexpr std::string_view kBearer = "Bearer ";
  const bool bearer = authorization.starts_with(kBearer) || authorization.starts_with("bearer ");
  const Digest given = digest_of(bearer ? authorization.substr(kBearer.size()) : api_key);
  unsigned match = 0;
  for (const Digest& digest : digests_) {
    match |= CRYPTO_memcmp(digest.data(), given.data(), digest.size()) == 0;
  }
  return match != 0;
}

}  // namespace paternoster::server
