#include "measure/group_cells.h"

#include <span>
#include <string>

#include "measure/buckets.h"

namespace paternoster::measure {
namespace {

struct Row {
  const char* name;
  const char* help;
  std::span<const double> bounds;
  const char* alias;
};

const std::array<Row, kLatencies>& rows() {
  static const std::array<Row, kLatencies> kRows = {{
      {"ttft_seconds", "Arrival to first token.", kSecondBounds, "vllm:time_to_first_token_seconds"},
      {"itl_seconds", "Gap between two tokens of a sequence.", kGapBounds, "vllm:inter_token_latency_seconds"},
      {"tpot_seconds", "Mean gap of a sequence.", kGapBounds, "vllm:request_time_per_output_token_seconds"},
      {"e2e_seconds", "Arrival to last token.", kSecondBounds, "vllm:e2e_request_latency_seconds"},
      {"queue_seconds", "Arrival to first seat.", kSecondBounds, "vllm:request_queue_time_seconds"},
  }};
  return kRows;
}

}  // namespace

GroupCells::GroupCells(Registry& registry) {
  for (std::size_t i = 0; i < kLatencies; ++i) {
    const Row& row = rows()[i];
    latencies[i] = &registry.histogram("", row.help, row.bounds, {}, row.alias);
  }
}

GroupCells::GroupCells(Registry& registry, std::string_view prefix, std::string_view label, std::string_view name) {
  const Labels labels = {{std::string(label), std::string(name)}};
  for (std::size_t i = 0; i < kLatencies; ++i) {
    const Row& row = rows()[i];
    latencies[i] = &registry.histogram(std::string(prefix) + row.name, row.help, row.bounds, labels);
  }
  service = &registry.histogram(std::string(prefix) + "service_tokens",
                                "What a request cost: prompt tokens computed + 2 x output tokens.", kTokenBounds,
                                labels);
}

}  // namespace paternoster::measure
