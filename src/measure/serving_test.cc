#include "measure/serving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/tenant_service.h"

namespace paternoster::measure {
namespace {

using scheduler::Event;
using scheduler::EventKind;
using testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

Event event(std::int64_t at_ns, EventKind kind, std::int32_t count = 0) {
  Event made;
  made.at_ns = at_ns;
  made.kind = kind;
  made.count = count;
  made.request = RequestId{1};
  return made;
}

scheduler::Request request() {
  scheduler::Request made;
  made.id = RequestId{1};
  made.prompt.resize(10);
  return made;
}

TEST(ServingMetrics, FoldsALifeIntoItsLatencies) {
  ServingMetrics metrics("m");
  metrics.arrived(request(), kSecond);
  Event finished = event(5 * kSecond, EventKind::kFinished, 3);
  finished.finish = scheduler::FinishReason::kLength;
  const Event events[] = {
      event(kSecond, EventKind::kAccepted, 1),      event(2 * kSecond, EventKind::kAdmitted, 4),
      event(3 * kSecond, EventKind::kToken),        event(4 * kSecond, EventKind::kToken, 1),
      event(5 * kSecond, EventKind::kToken, 2),     finished,
      event(5 * kSecond, EventKind::kRequestFinished)};
  metrics.take(events);
  const std::string text = metrics.render();
  EXPECT_THAT(text, HasSubstr("paternoster_ttft_seconds_sum{model=\"m\",class=\"default\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("vllm:time_to_first_token_seconds_sum{model_name=\"m\",engine=\"0\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("paternoster_queue_seconds_sum{model=\"m\",class=\"default\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("paternoster_itl_seconds_count{model=\"m\",class=\"default\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("paternoster_tpot_seconds_sum{model=\"m\",class=\"default\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("paternoster_e2e_seconds_sum{model=\"m\",class=\"default\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("paternoster_prefix_tokens_total{model=\"m\",result=\"hit\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("paternoster_requests_finished_total{model=\"m\",reason=\"length\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("vllm:generation_tokens_total{model_name=\"m\",engine=\"0\"} 3\n"));
}

TEST(ServingMetrics, SumsSeveralEnginesAndTellsThemApart) {
  ServingMetrics metrics("m");
  metrics.declare_engines(2);
  StepFigures figures;
  figures.running = 3;
  figures.kv_used = 10;
  figures.kv_free = 30;
  metrics.step(figures);
  figures.engine = 1;
  figures.running = 2;
  figures.kv_used = 30;
  figures.kv_free = 10;
  metrics.step(figures);
  figures.running = 1;
  metrics.step(figures);
  const std::string text = metrics.render();
  EXPECT_THAT(text, HasSubstr("vllm:num_requests_running{model_name=\"m\",engine=\"0\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("paternoster_engine_requests_running{model=\"m\",engine=\"1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("paternoster_kv_blocks{model=\"m\",state=\"used\"} 40\n"));
  EXPECT_THAT(text, HasSubstr("vllm:kv_cache_usage_perc{model_name=\"m\",engine=\"0\"} 0.5\n"));
}

TEST(ServingMetrics, ComputingAgainIsNoNewPrompt) {
  ServingMetrics metrics("m");
  metrics.arrived(request(), 0);
  Event again = event(3, EventKind::kAdmitted);
  again.resumed = true;
  const Event events[] = {event(1, EventKind::kAdmitted), event(2, EventKind::kPreempted), again};
  metrics.take(events);
  EXPECT_THAT(metrics.render(), HasSubstr("vllm:prompt_tokens_total{model_name=\"m\",engine=\"0\"} 10\n"));
  EXPECT_THAT(metrics.render(), HasSubstr("vllm:num_preemptions_total{model_name=\"m\",engine=\"0\"} 1\n"));
}

TEST(ServingMetrics, CountPreemptionsByKindAndWhatTheyWaste) {
  ServingMetrics metrics("m");
  metrics.declare_block_bytes(1000);
  metrics.arrived(request(), 0);
  Event swapped_out = event(2, EventKind::kPreempted);
  swapped_out.swapped_blocks = 3;
  Event back = event(3, EventKind::kAdmitted);
  back.resumed = true;
  back.swapped_blocks = 2;
  Event dropped = event(4, EventKind::kPreempted);
  dropped.cause = scheduler::PreemptCause::kBlocks;
  Event slice = event(6, EventKind::kPreempted);
  slice.cause = scheduler::PreemptCause::kSlice;
  Event over = event(8, EventKind::kFinished);
  over.recomputed_tokens = 40;
  Event resumed = back;
  resumed.swapped_blocks = 0;
  const Event events[] = {event(1, EventKind::kAdmitted), swapped_out, back, dropped, resumed, slice, resumed, over,
                          event(9, EventKind::kRequestFinished)};
  metrics.take(events);
  const std::string text = metrics.render();
  for (const char* kind : {"recompute", "swap", "slice"}) {
    EXPECT_THAT(text, HasSubstr("paternoster_preemptions_total{model=\"m\",kind=\"" + std::string(kind) + "\"} 1\n"));
  }
  EXPECT_THAT(text, HasSubstr("vllm:num_preemptions_total{model_name=\"m\",engine=\"0\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("paternoster_recomputed_tokens_total{model=\"m\"} 40\n"));
  EXPECT_THAT(text, HasSubstr("paternoster_swapped_bytes_total{model=\"m\",direction=\"out\"} 3000\n"));
  EXPECT_THAT(text, HasSubstr("paternoster_swapped_bytes_total{model=\"m\",direction=\"in\"} 2000\n"));
  EXPECT_THAT(text, HasSubstr("paternoster_request_recomputed_tokens_sum{model=\"m\"} 40\n"));
  EXPECT_THAT(text, HasSubstr("paternoster_request_swapped_bytes_sum{model=\"m\"} 5000\n"));
}

TEST(ServingMetrics, KnowClassesAndTenantsApart) {
  ServingMetrics metrics("m");
  metrics.label_tenants();
  scheduler::Request urgent = request();
  urgent.priority = -1;
  metrics.arrived(urgent, 0, "alice");
  const Event events[] = {event(1, EventKind::kAdmitted, 4), event(kSecond, EventKind::kToken),
                          event(2 * kSecond, EventKind::kRequestFinished)};
  metrics.take(events);
  const std::string text = metrics.render();
  EXPECT_THAT(text, HasSubstr("paternoster_ttft_seconds_count{model=\"m\",class=\"priority\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("paternoster_ttft_seconds_count{model=\"m\",class=\"default\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("paternoster_tenant_ttft_seconds_sum{model=\"m\",tenant=\"alice\"} 1\n"));
  // 10 prompt tokens, 4 of them cached, and one output token.
  EXPECT_THAT(text, HasSubstr("paternoster_tenant_service_tokens_sum{model=\"m\",tenant=\"alice\"} 8\n"));
}

TEST(ServingMetrics, MissedDeadlinesAreCountedByClassAndStage) {
  ServingMetrics metrics("m");
  scheduler::Request late = request();
  late.priority = 3;
  metrics.arrived(late, 0);
  Event finished = event(2, EventKind::kFinished);
  finished.finish = scheduler::FinishReason::kDeadline;
  const Event events[] = {event(1, EventKind::kAdmitted), finished, event(2, EventKind::kRequestFinished)};
  metrics.take(events);
  Event refused = event(3, EventKind::kRefused);
  refused.refusal = scheduler::Refusal::kDeadlineHopeless;
  metrics.arrived(request(), 3);
  metrics.take(std::span(&refused, 1));
  const std::string text = metrics.render();
  EXPECT_THAT(text, HasSubstr("missed_total{model=\"m\",class=\"flex\",stage=\"prefill\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("missed_total{model=\"m\",class=\"default\",stage=\"queue\"} 1\n"));
}

TEST(ServingMetrics, TenantsBeyondTheMostAreTogether) {
  ServingMetrics metrics("m");
  metrics.label_tenants();
  for (std::uint64_t i = 0; i < 200; ++i) {
    scheduler::Request one = request();
    one.id = RequestId{i};
    metrics.arrived(one, 0, "tenant" + std::to_string(i));
  }
  const std::string text = metrics.render();
  EXPECT_THAT(text, HasSubstr("tenant=\"other\""));
  EXPECT_THAT(text, testing::Not(HasSubstr("tenant=\"tenant199\"")));
}

TEST(TenantService, IsEvenByWeightAndForgets) {
  TenantService service;
  service.arrived("heavy", 3, 0);
  service.arrived("light", 1, 0);
  service.served("heavy", 300, kSecond);
  EXPECT_DOUBLE_EQ(service.evenness(kSecond).jain, 0.5);
  service.served("light", 100, kSecond);
  EXPECT_DOUBLE_EQ(service.evenness(kSecond).jain, 1);
  service.served("light", 50, 20 * kSecond);
  EXPECT_DOUBLE_EQ(service.evenness(20 * kSecond).largest_gap, 50);
  EXPECT_DOUBLE_EQ(service.evenness(65 * kSecond).jain, 1);  // only the last 50 are left: one tenant
  EXPECT_DOUBLE_EQ(service.evenness(1000 * kSecond).largest_gap, 0);
}

TEST(ServingMetrics, RetryAfterGrowsWithTheQueueAndStaysInBounds) {
  ServingMetrics metrics("m");
  EXPECT_EQ(metrics.retry_after_ms(), 1000);
  metrics.arrived(request(), 0);
  const Event events[] = {event(2 * kSecond, EventKind::kFinished),
                          event(2 * kSecond, EventKind::kRequestFinished)};
  metrics.take(events);
  StepFigures figures;
  figures.waiting = 9;
  metrics.step(figures);
  EXPECT_EQ(metrics.retry_after_ms(), 20'000);
  figures.waiting = 5000;
  metrics.step(figures);
  EXPECT_EQ(metrics.retry_after_ms(), 60'000);
}

TEST(Registry, EscapesLabelsAndCountsBucketsCumulatively) {
  Registry registry({{"model", "a\"b\\c\nd"}}, {});
  constexpr double kBounds[] = {1, 2.5};
  Histogram& histogram = registry.histogram("x", "help", kBounds);
  for (const double value : {1.0, 2.0, 9.0}) histogram.observe(value);
  EXPECT_EQ(registry.render(),
            "# HELP x help\n# TYPE x histogram\n"
            "x_bucket{model=\"a\\\"b\\\\c\\nd\",le=\"1\"} 1\n"
            "x_bucket{model=\"a\\\"b\\\\c\\nd\",le=\"2.5\"} 2\n"
            "x_bucket{model=\"a\\\"b\\\\c\\nd\",le=\"+Inf\"} 3\n"
            "x_sum{model=\"a\\\"b\\\\c\\nd\"} 12\n"
            "x_count{model=\"a\\\"b\\\\c\\nd\"} 3\n");
}

}  // namespace
}  // namespace paternoster::measure
