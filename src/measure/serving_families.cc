#include "measure/serving_families.h"

#include "measure/buckets.h"

namespace paternoster::measure {
namespace {

constexpr double kStepTokenBounds[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
constexpr double kFewBounds[] = {0, 1, 2, 5, 10, 20, 50};
constexpr double kWasteBounds[] = {0, 16, 64, 256, 1024, 4096, 16384, 65536};
constexpr double kByteBounds[] = {0, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 1024.0 * (1 << 20)};

std::array<Gauge*, scheduler::kWaitReasons> waiting_gauges(Registry& registry) {
  std::array<Gauge*, scheduler::kWaitReasons> gauges{};
  for (std::size_t i = 0; i < gauges.size(); ++i) {
    gauges[i] = &registry.gauge("paternoster_requests_waiting", "Sequences that wait, by reason.",
                                {{"reason", to_string(static_cast<scheduler::WaitReason>(i))}});
  }
  return gauges;
}

std::array<Gauge*, 3> block_gauges(Registry& registry) {
  const auto make = [&](const char* state) {
    return &registry.gauge("paternoster_kv_blocks", "Blocks of the KV cache, by state.",
                           {{"state", state}});
  };
  return {make("used"), make("cached"), make("free")};
}

std::array<Counter*, 3> preemption_counters(Registry& registry) {
  const auto make = [&](const char* kind) {
    return &registry.counter("paternoster_preemptions_total", "Seats given up, by what became of the KV.",
                             {{"kind", kind}});
  };
  return {make("recompute"), make("swap"), make("slice")};
}

std::array<Counter*, 2> swap_counters(Registry& registry) {
  const auto make = [&](const char* direction) {
    return &registry.counter("paternoster_swapped_bytes_total", "KV copied out to the host and back in.",
                             {{"direction", direction}});
  };
  return {make("out"), make("in")};
}

std::array<Counter*, 3> finished_counters(Registry& registry) {
  const auto make = [&](const char* reason) {
    return &registry.counter("paternoster_requests_finished_total", "Requests ended, by reason.",
                             {{"reason", reason}}, "vllm:request_success_total",
                             {{"finished_reason", reason}});
  };
  return {make("stop"), make("length"), make("abort")};
}

std::array<Counter*, scheduler::kRefusals> refused_counters(Registry& registry) {
  std::array<Counter*, scheduler::kRefusals> counters{};
  for (std::size_t i = 0; i < counters.size(); ++i) {
    const auto refusal = static_cast<scheduler::Refusal>(i);
    if (refusal == scheduler::Refusal::kNone) continue;
    const bool full = refusal == scheduler::Refusal::kQueueFull;
    counters[i] = &registry.counter("paternoster_requests_rejected_total",
                                    "Requests refused before they cost anything, by reason.",
                                    {{"reason", to_string(refusal)}},
                                    full ? "vllm:admission_rejections_total" : "",
                                    {{"reason", "max_num_queued_reqs"}});
  }
  return counters;
}

std::array<std::array<Counter*, kStages>, kClasses> deadline_counters(Registry& registry) {
  std::array<std::array<Counter*, kStages>, kClasses> counters{};
  for (std::size_t group = 0; group < kClasses; ++group) {
    for (std::size_t stage = 0; stage < kStages; ++stage) {
      counters[group][stage] =
          &registry.counter("paternoster_deadline_missed_total", "Requests ended by their timeout.",
                            {{"class", class_name(group)}, {"stage", to_string(static_cast<Stage>(stage))}});
    }
  }
  return counters;
}

}  // namespace

// Members are initialised in the order in which they are exposed: gauges first, for quick scrapers.
ServingMetrics::Families::Families(Registry& r)
    : running(r.gauge("paternoster_requests_running", "Sequences with a seat.", {},
                      "vllm:num_requests_running")),
      waiting_by_reason(waiting_gauges(r)),
      waiting(r.gauge("", "Sequences that wait.", {}, "vllm:num_requests_waiting")),
      kv_blocks(block_gauges(r)),
      kv_usage(r.gauge("paternoster_kv_usage_ratio", "Share of KV blocks in use, 0 to 1.", {},
                       "vllm:kv_cache_usage_perc")),
      prefix_hits(r.counter("paternoster_prefix_tokens_total",
                            "Prompt tokens looked up in the prefix cache, by result.",
                            {{"result", "hit"}}, "vllm:prefix_cache_hits_total")),
      prefix_misses(r.counter("paternoster_prefix_tokens_total",
                              "Prompt tokens looked up in the prefix cache, by result.",
                              {{"result", "miss"}})),
      prefix_queries(r.counter("", "Prompt tokens looked up in the prefix cache.", {},
                               "vllm:prefix_cache_queries_total")),
      prompt_computed(r.counter("paternoster_prompt_tokens_total", "Prompt tokens, by source.",
                                {{"source", "computed"}})),
      prompt_cached(r.counter("paternoster_prompt_tokens_total", "Prompt tokens, by source.",
                              {{"source", "cached"}}, "vllm:prompt_tokens_cached_total")),
      prompt_total(r.counter("", "Prompt tokens.", {}, "vllm:prompt_tokens_total")),
      generated(r.counter("paternoster_generated_tokens_total", "Tokens generated.", {},
                          "vllm:generation_tokens_total")),
      finished(finished_counters(r)),
      refused(refused_counters(r)),
      preemptions_by_kind(preemption_counters(r)),
      preemptions(r.counter("", "Seats given up, slices apart.", {}, "vllm:num_preemptions_total")),
      recomputed(r.counter("paternoster_recomputed_tokens_total", "Tokens computed again after a preemption.")),
      swapped_bytes(swap_counters(r)),
      deadlines(deadline_counters(r)),
      jain(r.gauge("paternoster_fairness_jain_index",
                   "Jain's index over the service by weight of the last minute's tenants; 1: all equal.")),
      service_gap(r.gauge("paternoster_fairness_service_gap_tokens",
                          "Largest difference between two tenants' service by weight in the last minute.")),
      drafted(r.counter("paternoster_draft_tokens_total", "Tokens guessed and computed ahead.", {},
                        "vllm:spec_decode_num_draft_tokens_total")),
      accepted(r.counter("paternoster_accepted_draft_tokens_total", "Of those, guessed right: they needed no step.",
                         {}, "vllm:spec_decode_num_accepted_tokens_total")),
      steps(r.counter("paternoster_steps_total", "Steps of the engine.")),
      step_ns(r.counter("paternoster_step_nanoseconds_total", "Spent in steps: planning, computing, telling.")),
      kernel_ns(r.counter("paternoster_kernel_nanoseconds_total",
                          "Of paternoster_step_nanoseconds_total, spent in the model's kernels.")),
      prefill(r.histogram("paternoster_prefill_seconds", "First seat to first token.", kSecondBounds,
                          {}, "vllm:request_prefill_time_seconds")),
      decode(r.histogram("paternoster_decode_seconds", "First token to last.", kSecondBounds, {},
                         "vllm:request_decode_time_seconds")),
      prompt_tokens(r.histogram("paternoster_request_prompt_tokens", "Prompt tokens of a request.",
                                kTokenBounds, {}, "vllm:request_prompt_tokens")),
      output_tokens(r.histogram("paternoster_request_output_tokens",
                                "Tokens generated for a request, all choices.", kTokenBounds, {},
                                "vllm:request_generation_tokens")),
      request_preemptions(r.histogram("paternoster_request_preemptions",
                                      "Seats given up by a request.", kFewBounds, {},
                                      "vllm:request_num_preemptions")),
      request_recomputed(r.histogram("paternoster_request_recomputed_tokens",
                                     "Tokens of a request that were computed again.", kWasteBounds)),
      request_swapped(r.histogram("paternoster_request_swapped_bytes",
                                  "KV of a request copied out to the host and back in.", kByteBounds)),
      step_tokens(r.histogram("paternoster_step_tokens", "Tokens computed in a step.",
                              kStepTokenBounds, {}, "vllm:iteration_tokens_total")),
      step_seconds(r.histogram("paternoster_step_seconds", "Duration of a step.", kGapBounds)) {}

}  // namespace paternoster::measure
