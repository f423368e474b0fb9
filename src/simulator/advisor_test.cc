#include "simulator/advisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "scheduler/presets.h"
#include "simulator/bands.h"
#include "simulator/fit_requests.h"

namespace paternoster::simulator {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kAdviceMs = 1'000'000;

Candidate candidate_of(const char* preset, const Options& options) {
  Candidate candidate{preset, options.config};
  candidate.config.choices = *scheduler::choices_of(preset);
  return candidate;
}

AdviceRequest request_of(const char* slo, double rate) {
  AdviceRequest request;
  request.options.config.limits = {
      .max_seqs = 4, .step_tokens = 64, .block_size = 4, .num_blocks = 2000, .max_len = 1000};
  request.options.config.limits.max_queue = 1 << 20;
  request.options.config.limits.prefix_cache = false;
  request.options.model.terms = {10 * kAdviceMs * 1000, 50'000'000, 50'000'000, 0, 0};  // 10 ms + 50 us a token
  request.options.objectives = *measure::parse_objectives(slo);
  request.workload.count = 150;
  request.workload.arrivals = *workload::parse_arrivals("poisson");
  request.workload.rate = rate;
  request.workload.classes = {
      {"", 1, *workload::parse_lengths("uniform:50-300"), *workload::parse_lengths("uniform:5-60")}};
  for (const char* preset : {"vllm", "static"}) request.presets.push_back(candidate_of(preset, request.options));
  request.step_tokens = {32, 256};
  request.seats = {2, 32};
  return request;
}

TEST(Advise, FindsThatMoreSeatsServeMore) {
  const auto advice = advise(request_of("ttft=1s,itl=80ms", 5));
  ASSERT_TRUE(advice) << advice.error().message;
  const Tried& best = advice->tried.front();
  EXPECT_EQ(best.candidate.preset, "vllm");
  EXPECT_EQ(best.candidate.config.limits.max_seqs, 32);
  EXPECT_TRUE(best.meets_objectives);
  EXPECT_GT(best.goodput, 5);
  for (const Tried& one : advice->tried) EXPECT_LE(one.goodput, best.goodput * 1.04);
  EXPECT_NE(advice->tried[advice->runner_up].candidate.preset, "vllm");
  ASSERT_GE(advice->frontier.size(), 2u);
  EXPECT_GE(advice->frontier.front().best, advice->frontier.back().best);
}

TEST(Advise, AShortGapAsksForASmallStep) {
  // A step of 64 tokens takes 13.2 ms, one of 32 less than 12.
  AdviceRequest request = request_of("itl=12500us@p99", 1);
  request.presets.pop_back();  // closed batches need none: no prompt comes between their tokens
  const auto advice = advise(request);
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->tried.front().candidate.config.limits.step_tokens, 32);
}

TEST(Advise, SeesThatNobodyEverMeetsAnother) {
  AdviceRequest request = request_of("ttft=1s", 0.05);
  request.workload.arrivals = *workload::parse_arrivals("constant");
  const auto advice = advise(request);
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->tried.front().most_live, 1);
}

TEST(Advise, FindsTheFewestEnginesThatMeetTheObjectives) {
  AdviceRequest request = request_of("ttft=1s,itl=80ms", 60);  // more than one engine serves
  request.presets = {candidate_of("vllm", request.options)};
  request.step_tokens = {};
  request.seats = {};
  request.instances = {1, 2, 4, 8, 16};
  const auto advice = advise(request);
  ASSERT_TRUE(advice) << advice.error().message;
  const Tried& best = advice->tried.front();
  EXPECT_TRUE(best.meets_objectives);
  EXPECT_GT(best.candidate.instances, 1);
  // One fewer was tried, or is the number that misses; no smaller number meets them.
  const auto rows = advice->by_instances();
  ASSERT_GE(rows.size(), 3u);
  for (const Tried* one : rows) EXPECT_EQ(one->meets_objectives, one->candidate.instances >= best.candidate.instances);
  const auto fewer = std::ranges::find(rows, best.candidate.instances - 1, [](const Tried* one) {
    return one->candidate.instances;
  });
  EXPECT_NE(fewer, rows.end());
  for (std::size_t at = 1; at < rows.size(); ++at) EXPECT_GE(rows[at]->goodput, rows[at - 1]->goodput);
}

TEST(Advise, TwoEnginesAreFasterThanOne) {
  const AdviceRequest request = request_of("ttft=1s", 5);
  Candidate candidate = candidate_of("vllm", request.options);
  const auto alone = run_trial(request.options, request.workload, candidate, 1);
  candidate.instances = 2;
  const auto two = run_trial(request.options, request.workload, candidate, 1);
  ASSERT_TRUE(alone && two);
  EXPECT_EQ(two->summary.all.completed, alone->summary.all.completed);
  EXPECT_LT(two->summary.all.e2e.mean(), alone->summary.all.e2e.mean());
}

TEST(Advise, TriesLengthsOfSlices) {
  AdviceRequest request = request_of("e2e=20s", 2);
  request.presets = {candidate_of("scls", request.options)};
  request.step_tokens = {};
  request.seats = {};
  request.slice_tokens = {8, 16, 64};
  const auto advice = advise(request);
  ASSERT_TRUE(advice) << advice.error().message;
  std::set<std::int32_t> tried;
  for (const Tried& one : advice->tried) tried.insert(one.candidate.config.tuning.slice_tokens);
  EXPECT_EQ(tried, (std::set<std::int32_t>{8, 16, 64, 128}));
  for (const Tried& one : advice->tried) EXPECT_LE(one.goodput, advice->tried.front().goodput * 1.04);
}

TEST(Bands, SayWhetherTheVerdictFlips) {
  Options options = request_of("e2e=10s", 5).options;
  options.config.limits.max_seqs = 32;
  workload::Description workload = request_of("e2e=10s", 5).workload;
  auto middle = Simulation::create(options, *workload::Source::create(workload))->run();
  auto bands = run_bands(options, workload);
  ASSERT_TRUE(bands);
  EXPECT_FALSE(bands->flips(middle));
  EXPECT_LT(bands->faster.summary.all.e2e.mean(), middle.summary.all.e2e.mean());
  EXPECT_GT(bands->slower.summary.all.e2e.mean(), middle.summary.all.e2e.mean());
  // An objective that lies within the band.
  options.objectives[0].limit_ns = static_cast<std::int64_t>(middle.summary.all.e2e.percentile(95)) + 1;
  middle = Simulation::create(options, *workload::Source::create(workload))->run();
  bands = run_bands(options, workload);
  EXPECT_TRUE(bands->flips(middle));
}

TEST(FitRequests, PredictsTheRequestsItHasNotSeen) {
  Options options = request_of("e2e=10s", 5).options;
  options.config.limits.max_seqs = 32;
  options.model.terms = {12 * kAdviceMs * 1000, 60'000'000, 60'000'000, 20'000, 3'000};
  workload::Description workload = request_of("e2e=10s", 12).workload;
  std::vector<MeasuredRequest> measured(workload.count);
  options.on_record = [&](const measure::RequestRecord& record) {
    measured[record.id] = {record.scheduled_ns, record.input_tokens, record.output_tokens, record.first_token_ns,
                           record.last_token_ns};
  };
  Simulation::create(options, *workload::Source::create(workload))->run();
  const auto fit = fit_requests(measured, options.config, 0.5);
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_EQ(fit->fitted, 75u);
  EXPECT_NEAR(fit->rest_simulated.e2e_ns / fit->rest_real.e2e_ns, 1, 0.04);
  EXPECT_NEAR(fit->rest_simulated.tpot_ns / fit->rest_real.tpot_ns, 1, 0.04);
  // Single coefficients are not told apart by requests' times alone; what they predict together is.
}

TEST(FitRequests, ReadsVllmsLogAndNamesWhatIsWrong) {
  const std::string row = R"({"request_id": "a", "input_toks": 5, "output_toks": 2, "arrival_time": 1000.5, )"
                          R"("queued_ts": 7.0, "scheduled_ts": 7.0, "first_token_ts": 7.5, "last_token_ts": 8.0})";
  std::istringstream in(row + "\n");
  const auto read = read_measured(in, "log");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->front().at_ns, 0);
  EXPECT_EQ(read->front().first_token_ns, 500 * kAdviceMs);
  for (const char* bad : {"{", "[]", "{}", R"({"scheduled_ns": 4})"}) {
    std::istringstream wrong(row + "\n" + bad + "\n");
    const auto refused = read_measured(wrong, "log");
    ASSERT_FALSE(refused) << bad;
    EXPECT_THAT(refused.error().message, HasSubstr("log:2:"));
  }
}

}  // namespace
}  // namespace paternoster::simulator
