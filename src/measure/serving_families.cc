#include "measure/serving_families.h"

namespace paternoster::measure {
namespace {

constexpr double kSecondBounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
                                    10,    20,   40,    80,   160, 320,  640, 1280, 2560};
// A small model's gaps are a few milliseconds on a CPU.
constexpr double kGapBounds[] = {0.001, 0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06,
                                 0.08,  0.1,   0.15,  0.2,   0.3,   0.5,  0.75,  1,    2.5,  5,    10};
constexpr double kTokenBounds[] = {1,   2,    5,    10,   20,   50,    100,   200,
                                   500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
constexpr double kStepTokenBounds[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
constexpr double kFewBounds[] = {0, 1, 2, 5, 10, 20, 50};

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
      preemptions(r.counter("paternoster_preemptions_total", "Seats given up, by kind.",
                            {{"kind", "recompute"}}, "vllm:num_preemptions_total")),
      steps(r.counter("paternoster_steps_total", "Steps of the engine.")),
      step_ns(r.counter("paternoster_step_nanoseconds_total", "Spent in steps: planning, computing, telling.")),
      kernel_ns(r.counter("paternoster_kernel_nanoseconds_total",
                          "Of paternoster_step_nanoseconds_total, spent in the model's kernels.")),
      ttft(r.histogram("paternoster_ttft_seconds", "Arrival to first token.", kSecondBounds, {},
                       "vllm:time_to_first_token_seconds")),
      itl(r.histogram("paternoster_itl_seconds", "Gap between two tokens of a sequence.", kGapBounds, {},
                      "vllm:inter_token_latency_seconds")),
      tpot(r.histogram("paternoster_tpot_seconds", "Mean gap of a sequence.", kGapBounds, {},
                       "vllm:request_time_per_output_token_seconds")),
      e2e(r.histogram("paternoster_e2e_seconds", "Arrival to last token.", kSecondBounds, {},
                      "vllm:e2e_request_latency_seconds")),
      queue(r.histogram("paternoster_queue_seconds", "Arrival to first seat.", kSecondBounds, {},
                        "vllm:request_queue_time_seconds")),
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
      step_tokens(r.histogram("paternoster_step_tokens", "Tokens computed in a step.",
                              kStepTokenBounds, {}, "vllm:iteration_tokens_total")),
      step_seconds(r.histogram("paternoster_step_seconds", "Duration of a step.", kGapBounds)) {}

}  // namespace paternoster::measure
