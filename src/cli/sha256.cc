#include "cli/sha256.h"

#include <openssl/evp.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <memory>
#include <vector>

namespace paternoster::cli {

Result<std::string> sha256_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure(ErrorCode::kNotFound, "cannot read '" + path.string() + "'");
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                       EVP_MD_CTX_free);
  bool sound = context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  std::vector<char> buffer(std::size_t{1} << 20);
  while (sound && file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    sound = EVP_DigestUpdate(context.get(), buffer.data(),
                             static_cast<std::size_t>(file.gcount())) == 1;
  }
  if (file.bad()) return failure(ErrorCode::kUnavailable, "cannot read '" + path.string() + "'");
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (!sound || EVP_DigestFinal_ex(context.get(), digest, &length) != 1) {
    return failure(ErrorCode::kInternal, "OpenSSL cannot compute SHA-256");
  }
  std::string text;
  for (unsigned at = 0; at < length; ++at) {
    char pair[3];
    std::snprintf(pair, sizeof pair, "%02x", digest[at]);
    text += pair;
  }
  return text;
}

}  // namespace paternoster::cli
