// The families of ServingMetrics: their names, help lines, buckets and vLLM aliases. One table.
#pragma once

#include <array>

#include "measure/metrics.h"
#include "measure/serving.h"

namespace paternoster::measure {

struct ServingMetrics::Families {
  explicit Families(Registry& registry);

  Gauge& running;
  std::array<Gauge*, scheduler::kWaitReasons> waiting_by_reason;
  Gauge& waiting;  // the alias's total
  std::array<Gauge*, 3> kv_blocks;  // used, cached, free
  Gauge& kv_usage;
  Counter& prefix_hits;
  Counter& prefix_misses;
  Counter& prefix_queries;
  Counter& prompt_computed;
  Counter& prompt_cached;
  Counter& prompt_total;
  Counter& generated;
  std::array<Counter*, 3> finished;  // stop, length, abort
  std::array<Counter*, scheduler::kRefusals> refused;   // by scheduler::Refusal
  std::array<Counter*, 3> preemptions_by_kind;  // recompute, swap, slice
  Counter& preemptions;                         // the alias's total: slices are none
  Counter& recomputed;
  std::array<Counter*, 2> swapped_bytes;  // out, in
  std::array<std::array<Counter*, kStages>, kClasses> deadlines;  // missed
  Gauge& jain;
  Gauge& service_gap;
  Counter& drafted;
  Counter& accepted;
  Counter& steps;
  Counter& step_ns;
  Counter& kernel_ns;
  Histogram& prefill;
  Histogram& decode;
  Histogram& prompt_tokens;
  Histogram& output_tokens;
  Histogram& request_preemptions;
  Histogram& request_recomputed;
  Histogram& request_swapped;
  Histogram& step_tokens;
  Histogram& step_seconds;
};

}  // namespace paternoster::measure
