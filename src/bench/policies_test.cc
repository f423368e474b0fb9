#include "bench/policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/metrics_watch.h"
#include "workload/random_stream.h"

namespace paternoster::bench {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// Forty requests, `streams` at a time, each of about so long.
PolicyRun run_of(const char* preset, int streams, double e2e_ms, double ttft_ms, std::uint64_t seed) {
  workload::RandomStream random(seed, 1);
  LoadResult load;
  std::vector<std::int64_t> free_at(static_cast<std::size_t>(streams), 0);
  for (std::uint64_t id = 0; id < 40; ++id) {
    auto& next = *std::ranges::min_element(free_at);
    const double factor = 0.9 + 0.2 * random.uniform();
    Sighting one;
    one.record.id = id;
    one.record.scheduled_ns = one.record.sent_ns = next;
    one.record.first_token_ns = next + static_cast<std::int64_t>(ttft_ms * factor * 1e6);
    one.record.last_token_ns = one.record.ended_ns = next + static_cast<std::int64_t>(e2e_ms * factor * 1e6);
    one.record.output_tokens = 20;
    next = one.record.ended_ns;
    load.duration_ns = std::max(load.duration_ns, next);
    load.sightings.push_back(one);
  }
  AnalysisOptions options;
  options.objectives = *measure::parse_objectives("ttft=300ms");
  return {preset, std::to_string(streams) + " streams", streams, analyse(std::move(load), options), false};
}

TEST(Policies, PaysWhenOverlappingRequestsGetMore) {
  const std::vector<PolicyRun> runs{run_of("static", 1, 1000, 100, 1), run_of("static", 4, 4000, 900, 2),
                                    run_of("vllm", 1, 1000, 100, 3), run_of("vllm", 4, 1500, 150, 4)};
  const auto one = against(runs[3], runs[1]);
  ASSERT_TRUE(one);
  EXPECT_GT(one->output, 2);
  EXPECT_TRUE(one->output_sure && one->ttft_sure && one->e2e_sure);
  const PolicyVerdict verdict = judge_policies(runs, "static");
  EXPECT_TRUE(verdict.pays);
  EXPECT_EQ(verdict.best, "vllm");
  EXPECT_THAT(verdict.sentences, Contains(HasSubstr("At 4 streams the targets ttft=300ms@p95 are met by: vllm.")));
  EXPECT_THAT(verdict.sentences, Contains("Continuous batching pays for this work."));
}

TEST(Policies, DoesNotPayWhereNothingOverlapsOrNothingIsWon) {
  const std::vector<PolicyRun> alone{run_of("static", 1, 1000, 100, 1), run_of("vllm", 1, 500, 50, 2)};
  EXPECT_FALSE(judge_policies(alone, "static").pays);
  const std::vector<PolicyRun> equal{run_of("static", 4, 1000, 100, 1), run_of("vllm", 4, 990, 101, 2)};
  const PolicyVerdict verdict = judge_policies(equal, "static");
  EXPECT_FALSE(verdict.pays);
  EXPECT_EQ(verdict.best, "static");  // no reason to change
}

TEST(Policies, OnlyContinuousBoardingMakesContinuousBatchingPay) {
  std::vector<PolicyRun> runs{run_of("static", 4, 4000, 900, 1), run_of("window", 4, 1500, 150, 2)};
  runs[1].continuous = false;
  const PolicyVerdict verdict = judge_policies(runs, "static");
  EXPECT_FALSE(verdict.pays) << "a better window is no continuous batching";
  EXPECT_EQ(verdict.best, "window");
}

TEST(Policies, WhereNobodyKeepsTheTargetsTheMostOutputIsBest) {
  const std::vector<PolicyRun> runs{run_of("static", 4, 4000, 3000, 1), run_of("vllm", 4, 1500, 900, 2)};
  const PolicyVerdict verdict = judge_policies(runs, "static");
  EXPECT_EQ(verdict.best, "vllm");
  EXPECT_THAT(verdict.sentences, Contains(HasSubstr("are met by no setting")));
  EXPECT_THAT(verdict.sentences, Contains(AllOf(HasSubstr("Take --preset vllm"), Not(HasSubstr("good requests")))));
}

TEST(Policies, ABaselineThatMovedIsToldFirstAndJudgesNobody) {
  std::vector<PolicyRun> runs{run_of("static", 4, 2000, 200, 1), run_of("vllm", 4, 2000, 200, 2),
                              run_of("static", 4, 900, 100, 3)};
  runs[2].again = true;
  const PolicyVerdict verdict = judge_policies(runs, "static");
  EXPECT_FALSE(verdict.steady);
  EXPECT_THAT(verdict.sentences.front(), HasSubstr("not steady: at 4 streams static: output tok/s +1"));
  EXPECT_FALSE(verdict.pays);
  EXPECT_EQ(verdict.best, "static");
  runs[2] = run_of("static", 4, 2010, 200, 4);
  runs[2].again = true;
  EXPECT_TRUE(judge_policies(runs, "static").steady);
}

TEST(Policies, WhoDidNotStartIsNeitherBestNorCompared) {
  std::vector<PolicyRun> runs{run_of("static", 4, 1000, 100, 1), {"orca", "4 streams", 4, {}, true}};
  EXPECT_FALSE(against(runs[1], runs[0]));
  EXPECT_EQ(judge_policies(runs, "static").best, "static");
  runs[0].refused = true;
  EXPECT_EQ(judge_policies(runs, "static").best, "");
}

TEST(Policies, JainIsOneWhenAllAreEquallyFast) {
  const PolicyRun run = run_of("static", 4, 1000, 100, 1);
  EXPECT_GT(jain_of_speeds(run.run.load.sightings), 0.99);
  std::vector<Sighting> two(2);
  for (Sighting& one : two) one.record.output_tokens = 10;
  two[0].record.last_token_ns = 1'000'000'000;
  two[1].record.last_token_ns = 9'000'000'000;
  EXPECT_NEAR(jain_of_speeds(two), (1 + 1.0 / 9) * (1 + 1.0 / 9) / (2 * (1 + 1.0 / 81)), 1e-12);
}

TEST(MetricsWatch, ReadsPrometheusText) {
  const std::string_view text =
      "# TYPE a gauge\na 3\na_b 7\nvllm:x{model_name=\"m\",engine=\"0\"} 0.25\n"
      "vllm:x{engine=\"1\"} 0.5\nbad{ 9\nn NaN\n";
  EXPECT_DOUBLE_EQ(metric_in(text, "a"), 3);
  EXPECT_DOUBLE_EQ(metric_in(text, "vllm:x"), 0.75);
  EXPECT_TRUE(std::isnan(metric_in(text, "missing")));
  EXPECT_TRUE(std::isnan(metric_in("", "a")));
}

}  // namespace
}  // namespace paternoster::bench
