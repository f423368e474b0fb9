#include "measure/objective.h"

#include <charconv>
#include <cstdio>

namespace paternoster::measure {
namespace {

std::unexpected<Error> bad_part(std::string_view part) {
  return failure(ErrorCode::kInvalidArgument,
                 "'" + std::string(part) + "' is not an objective like ttft=1s or itl=80ms@p95 "
                 "(metrics: ttft, tpot, itl, e2e)");
}

Result<Objective> parse_part(std::string_view part) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) return bad_part(part);
  Objective objective;
  const std::string_view name = part.substr(0, equals);
  if (name == "ttft") {
    objective.metric = Metric::kTtft;
  } else if (name == "tpot") {
    objective.metric = Metric::kTpot;
  } else if (name == "itl") {
    objective.metric = Metric::kItl;
  } else if (name == "e2e" || name == "e2el") {
    objective.metric = Metric::kE2e;
  } else {
    return bad_part(part);
  }
  std::string_view limit = part.substr(equals + 1);
  if (const std::size_t at = limit.find("@p"); at != std::string_view::npos) {
    const std::string_view digits = limit.substr(at + 2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), objective.percent);
    if (error != std::errc() || end != digits.data() + digits.size() ||
        !(objective.percent > 0 && objective.percent <= 100)) {
      return bad_part(part);
    }
    limit = limit.substr(0, at);
  }
  const auto duration = parse_duration(limit);
  if (!duration) return bad_part(part);
  objective.limit_ns = *duration;
  return objective;
}

}  // namespace

const char* to_string(Metric metric) {
  switch (metric) {
    case Metric::kTtft: return "ttft";
    case Metric::kTpot: return "tpot";
    case Metric::kItl: return "itl";
    case Metric::kE2e: return "e2el";
  }
  return "?";
}

Result<Objectives> parse_objectives(std::string_view text) {
  Objectives objectives;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const auto part = parse_part(text.substr(0, comma));
    if (!part) return std::unexpected(part.error());
    objectives.push_back(*part);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return bad_part(text);
  }
  if (objectives.empty()) return bad_part(text);
  return objectives;
}

std::string to_string(const Objectives& objectives) {
  std::string text;
  for (const Objective& one : objectives) {
    if (!text.empty()) text += ',';
    char percent[24];
    std::snprintf(percent, sizeof percent, "@p%.4g", one.percent);
    text += one.metric == Metric::kE2e ? "e2e" : to_string(one.metric);
    text += '=' + duration_text(static_cast<double>(one.limit_ns)) + percent;
  }
  return text;
}

bool is_good(const RequestRecord& record, const Objectives& objectives) {
  if (!record.completed()) return false;
  for (const Objective& one : objectives) {
    double value = 0;
    switch (one.metric) {
      case Metric::kTtft: value = static_cast<double>(record.ttft_ns()); break;
      case Metric::kE2e: value = static_cast<double>(record.e2e_ns()); break;
      case Metric::kItl: value = static_cast<double>(record.largest_gap_ns); break;
      // vLLM counts the TPOT of a single token as zero here.
      case Metric::kTpot: value = record.output_tokens > 1 ? record.tpot_ns() : 0; break;
    }
    if (value > static_cast<double>(one.limit_ns)) return false;
  }
  return true;
}

}  // namespace paternoster::measure
