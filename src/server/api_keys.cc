#include "server/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "api/standing.h"

namespace paternoster::server {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::int64_t kMost = 1 << 30;

// The next word of `rest`, which is moved behind it; empty at the end.
std::string_view next_word(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
  rest.remove_prefix(word.size());
  return word;
}

template <typename Integer>
Result<void> read_number(std::string_view term, std::string_view text, std::int64_t low, std::int64_t high,
                         Integer& value) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < low || number > high) {
    return failure(ErrorCode::kInvalidFile, std::string(term) + " must be a number from " + std::to_string(low) +
                                                " to " + std::to_string(high));
  }
  value = static_cast<Integer>(number);
  return {};
}

Result<void> read_name(std::string_view value, std::string& name) {
  const bool good = !value.empty() && value.size() <= api::kMostNameBytes &&
                    std::ranges::all_of(value, [](unsigned char c) { return c > 0x20 && c < 0x7F && c != '"'; });
  if (!good) return failure(ErrorCode::kInvalidFile, "name must have 1 to 128 visible ASCII characters");
  name = value;
  return {};
}

Result<void> read_term(std::string_view word, KeyTerms& terms) {
  if (word == "gateway") {
    terms.gateway = true;
    return {};
  }
  const std::string_view term = word.substr(0, word.find('='));
  const std::string_view value = word.substr(std::min(term.size() + 1, word.size()));
  if (term == "name") return read_name(value, terms.name);
  if (term == "weight") return read_number(term, value, 1, 100, terms.weight);
  if (term == "concurrent") return read_number(term, value, 1, kMost, terms.most_concurrent);
  if (term == "tokens-per-minute") return read_number(term, value, 1, kMost, terms.tokens_per_minute);
  if (term == "priority") {
    return read_number(term, value, -api::kMostPriority, api::kMostPriority, terms.most_urgent);
  }
  return failure(ErrorCode::kInvalidFile,
                 "there is no term '" + std::string(term) +
                     "'; there are name, weight, concurrent, tokens-per-minute, priority, gateway");
}

// A name that stays the same when other lines come and go, and tells nothing of the key.
std::string made_name(const std::array<unsigned char, 32>& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string name = "key-";
  for (std::size_t i = 0; i < 4; ++i) {
    name += kDigits[digest[i] >> 4];
    name += kDigits[digest[i] & 15];
  }
  return name;
}

}  // namespace

ApiKeys::Digest ApiKeys::digest_of(std::string_view key) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  return digest;
}

Result<ApiKeys::Key> ApiKeys::parse(std::string_view line) {
  Key key{digest_of(next_word(line)), {}};
  key.terms.name = made_name(key.digest);
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    if (auto read = read_term(word, key.terms); !read) return std::unexpected(read.error());
  }
  return key;
}

Result<ApiKeys> ApiKeys::read(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) return failure(ErrorCode::kNotFound, "cannot read the API key file " + file.string());
  ApiKeys keys;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const auto first = line.find_first_not_of(kBlanks);
    if (first == std::string::npos || line[first] == '#') continue;
    auto key = parse(line);
    if (key && std::ranges::any_of(keys.keys_, [&](const Key& other) { return other.terms.name == key->terms.name; })) {
      key = failure(ErrorCode::kInvalidFile, "another key has the name '" + key->terms.name + "'");
    }
    if (!key) {
      return failure(ErrorCode::kInvalidFile, "API key file " + file.string() + ", line " + std::to_string(number) +
                                                  ": " + key.error().message);
    }
    keys.keys_.push_back(std::move(*key));
  }
  if (keys.keys_.empty()) {
    return failure(ErrorCode::kInvalidFile, "there is no key in the API key file " + file.string());
  }
  return keys;
}

const KeyTerms* ApiKeys::find(std::string_view authorization, std::string_view api_key) const {
  constexpr std::string_view kBearer = "Bearer ";
  const bool bearer = authorization.starts_with(kBearer) || authorization.starts_with("bearer ");
  const Digest given = digest_of(bearer ? authorization.substr(kBearer.size()) : api_key);
  const KeyTerms* found = nullptr;
  for (const Key& key : keys_) {  // all of them, whichever fits
    if (CRYPTO_memcmp(key.digest.data(), given.data(), given.size()) == 0) found = &key.terms;
  }
  return found;
}

}  // namespace paternoster::server
