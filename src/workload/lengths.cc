#include "workload/lengths.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <vector>

namespace paternoster::workload {
namespace {

std::unexpected<Error> not_lengths(std::string_view text, std::string_view why) {
  return failure(ErrorCode::kInvalidArgument,
                 "'" + std::string(text) + "' is not a length distribution: " + std::string(why));
}

bool read_plain(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= kMostTokens;
}

std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(mark);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

Result<Lengths> read_empirical(std::string_view text, const std::string& path) {
  std::ifstream in(path);
  if (!in) return failure(ErrorCode::kNotFound, "cannot read the lengths in " + path);
  Lengths lengths;
  lengths.kind = Lengths::Kind::kEmpirical;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    double value = 0;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!read_plain(line, value) || value < 1) {
      return failure(ErrorCode::kInvalidFile, path + ":" + std::to_string(number) + ": '" + line +
                                                  "' is not a number of tokens");
    }
    lengths.values.push_back(static_cast<std::int32_t>(value));
  }
  if (lengths.values.empty()) return not_lengths(text, "the file has no lengths");
  return lengths;
}

}  // namespace

std::int32_t Lengths::draw(RandomStream& random) const {
  // A cap far below the mean would draw for long: after a while the cap itself is the answer.
  for (int attempt = 0; attempt < 10000; ++attempt) {
    double value = 0;
    switch (kind) {
      case Kind::kFixed: value = first; break;
      case Kind::kUniform:
        value = first + static_cast<double>(random.below(static_cast<std::uint64_t>(second - first) + 1));
        break;
      case Kind::kExponential: value = std::ceil(random.exponential() * first); break;
      case Kind::kLogNormal: value = std::round(first * std::exp(second * random.normal())); break;
      case Kind::kEmpirical: value = values[random.below(values.size())]; break;
    }
    if (cap > 0 && value > cap) continue;
    return static_cast<std::int32_t>(std::clamp(value, 1.0, double{kMostTokens}));
  }
  return cap;
}

Result<Lengths> parse_lengths(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return not_lengths(text, "write fixed:512, uniform:128-1024, exponential:128, lognormal:200:0.8 or "
                     "empirical:FILE");
  }
  const std::string_view name = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 1);
  if (name == "empirical") return read_empirical(text, std::string(rest));
  Lengths lengths;
  const auto parts = split(rest, name == "uniform" ? '-' : ':');
  if (!read_plain(parts[0], lengths.first) || lengths.first <= 0) return not_lengths(text, "the first number");
  std::size_t used = 1;
  if (name == "fixed") {
    lengths.kind = Lengths::Kind::kFixed;
  } else if (name == "exponential") {
    lengths.kind = Lengths::Kind::kExponential;
  } else if (name == "uniform" || name == "lognormal") {
    lengths.kind = name == "uniform" ? Lengths::Kind::kUniform : Lengths::Kind::kLogNormal;
    if (parts.size() < 2 || !read_plain(parts[1], lengths.second)) return not_lengths(text, "the second number");
    used = 2;
  } else {
    return not_lengths(text, "there is no '" + std::string(name) + "'");
  }
  if (lengths.kind == Lengths::Kind::kUniform && lengths.second < lengths.first) {
    return not_lengths(text, "the most is below the least");
  }
  const bool has_tail = name == "exponential" || name == "lognormal";
  if (has_tail && parts.size() == used + 1) {
    double cap = 0;
    if (!read_plain(parts[used], cap) || cap < 1) return not_lengths(text, "the cap");
    lengths.cap = static_cast<std::int32_t>(cap);
    ++used;
  }
  if (parts.size() != used) return not_lengths(text, "too many numbers");
  return lengths;
}

}  // namespace paternoster::workload
