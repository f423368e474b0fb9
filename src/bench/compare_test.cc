#include "bench/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/sweep.h"
#include "workload/random_stream.h"

namespace paternoster::bench {
namespace {

using testing::DoubleNear;

std::vector<double> draws(std::size_t count, double mean, std::uint64_t stream) {
  workload::RandomStream random(7, stream);
  std::vector<double> values(count);
  for (double& value : values) value = mean * random.exponential();
  return values;
}

TEST(Bootstrap, IntervalsHoldTheTruthAboutAsOftenAsTheySay) {
  int held = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto interval = interval_of(kMean, draws(200, 10, static_cast<std::uint64_t>(trial)), 0.95, 1);
    held += interval->low <= 10 && 10 <= interval->high;
  }
  EXPECT_GT(held, kTrials * 0.88);  // blocks are drawn, so a little below 95
  EXPECT_LT(held, kTrials * 0.99);
}

TEST(Bootstrap, IsEqualForEqualSeedsAndRefusesTooFewValues) {
  const auto values = draws(50, 1, 3);
  const auto one = interval_of({95}, values, 0.95, 4);
  const auto two = interval_of({95}, values, 0.95, 4);
  EXPECT_EQ(one->low, two->low);
  EXPECT_EQ(one->high, two->high);
  EXPECT_LE(one->low, value_of({95}, values));
  EXPECT_GE(one->high, value_of({95}, values));
  EXPECT_FALSE(interval_of(kMean, draws(7, 1, 3), 0.95, 4));
}

TEST(Bootstrap, PercentilesInterpolateAsNumpyDoes) {
  EXPECT_DOUBLE_EQ(value_of({50}, std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(value_of({95}, std::vector<double>{1, 2, 3, 4, 5}), 4.8);
  EXPECT_DOUBLE_EQ(value_of({100}, std::vector<double>{1, 2}), 2);
  EXPECT_DOUBLE_EQ(value_of(kMean, std::vector<double>{1, 2, 6}), 3);
}

std::string file_of(const std::vector<double>& ttfts, double tpot, double output, std::uint64_t failed = 0) {
  std::string text = R"({"completed":)" + std::to_string(ttfts.size()) + R"(,"failed":)" + std::to_string(failed) +
                     R"(,"duration":10,"request_rate":4,"output_throughput":)" + std::to_string(output) +
                     R"(,"intervals_95":{"output_throughput":[)" + std::to_string(output - 5) + "," +
                     std::to_string(output + 5) + "]},\"ttfts\":[";
  std::string latencies;
  std::string outputs;
  for (const double ttft : ttfts) {
    const char* comma = latencies.empty() ? "" : ",";
    text += comma + std::to_string(ttft);
    latencies += comma + std::to_string(ttft + tpot * 10);
    outputs += std::string(comma) + "11";
  }
  return text + "],\"latencies\":[" + latencies + "],\"output_lens\":[" + outputs + "]}";
}

Verdict verdict(const Comparison& comparison, const std::string& figure) {
  for (const Difference& difference : comparison.differences) {
    if (difference.figure == figure) return difference.verdict;
  }
  ADD_FAILURE() << figure;
  return Verdict::kUnknown;
}

TEST(Compare, TellsRealDifferencesFromNoise) {
  const auto before = parse_run(file_of(draws(300, 0.2, 1), 0.010, 100), "before");
  const auto same = parse_run(file_of(draws(300, 0.2, 2), 0.010, 103), "same");
  const auto slower = parse_run(file_of(draws(300, 0.3, 3), 0.008, 60, 40), "slower");
  ASSERT_TRUE(before && same && slower);
  const Comparison noise = compare(*before, *same);
  for (const char* figure : {"mean_ttft_ms", "median_ttft_ms", "p95_ttft_ms", "output_throughput", "success_rate"}) {
    EXPECT_EQ(verdict(noise, figure), Verdict::kWithinNoise) << figure;
  }
  const Comparison change = compare(*before, *slower);
  EXPECT_EQ(verdict(change, "mean_ttft_ms"), Verdict::kWorse);
  EXPECT_EQ(verdict(change, "mean_tpot_ms"), Verdict::kBetter);
  EXPECT_EQ(verdict(change, "output_throughput"), Verdict::kWorse);
  EXPECT_EQ(verdict(change, "success_rate"), Verdict::kWorse);
  EXPECT_EQ(verdict(change, "request_throughput"), Verdict::kUnknown);  // not in the files
}

TEST(Compare, FalseAlarmsAreRare) {
  int alarms = 0;
  for (std::uint64_t trial = 0; trial < 20; ++trial) {
    const auto one = parse_run(file_of(draws(150, 0.2, 100 + trial), 0.01, 100), "one");
    const auto two = parse_run(file_of(draws(150, 0.2, 200 + trial), 0.01, 100), "two");
    for (const Difference& difference : compare(*one, *two).differences) {
      alarms += difference.verdict == Verdict::kBetter || difference.verdict == Verdict::kWorse;
    }
  }
  EXPECT_LE(alarms, 4);
}

TEST(Compare, FailedRequestsAreLeftOutAndGapsAddUpWhereLatenciesAreMissing) {
  const auto run = parse_run(R"({"completed":2,"failed":1,"duration":1,"ttfts":[0.1,0,0.2],"output_lens":[3,0,1],
                                "itls":[[0.01,0.02],[],[]],"errors":["","status 503",""]})", "f");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(run->values_ms.at("ttft"), testing::ElementsAre(100, 200));
  EXPECT_THAT(run->values_ms.at("e2el"), testing::ElementsAre(DoubleNear(130, 1e-9), DoubleNear(200, 1e-9)));
  EXPECT_THAT(run->values_ms.at("tpot"), testing::ElementsAre(DoubleNear(15, 1e-9)));
}

TEST(Compare, SaysWhatWasNotEqual) {
  const auto one = parse_run(R"({"completed":1,"duration":1,"request_rate":4,"total_output_tokens":64})", "one");
  const auto two = parse_run(R"({"completed":1,"duration":1,"request_rate":"inf","total_output_tokens":32})", "two");
  EXPECT_THAT(compare(*one, *two).unlike,
              testing::ElementsAre("request_rate: 4 and inf", "total_output_tokens a request: 64 and 32"));
}

TEST(Compare, RefusesWhatIsNoResult) {
  for (const char* text : {"", "[]", "{}", R"({"completed":1})", "{\"completed\":1,"}) {
    EXPECT_FALSE(parse_run(text, "x")) << text;
  }
  EXPECT_TRUE(parse_run(R"({"completed":"many","duration":null,"ttfts":7,"itls":[1],"intervals_95":[]})", "odd"));
}

SweepPoint point(double load, double drift, double ttft_ms, double tokens) {
  SweepPoint one;
  one.load = load;
  one.run.drift = drift;
  measure::Summarizer summarizer(*measure::parse_objectives("ttft=100ms"));
  measure::RequestRecord record;
  record.first_token_ns = static_cast<std::int64_t>(ttft_ms * 1e6);
  record.last_token_ns = record.ended_ns = record.first_token_ns + 1'000'000;
  record.output_tokens = static_cast<std::int32_t>(tokens);
  summarizer.add(record);
  one.run.summary = summarizer.finish(1e9);
  return one;
}

TEST(Sweep, TheKneeIsWhereRunsCeaseToKeepUp) {
  const std::vector<SweepPoint> points{point(1, 1, 50, 10), point(2, 1.1, 80, 20), point(4, 1.2, 300, 39),
                                       point(8, 4, 900, 40)};
  const SweepVerdict open = judge(points, false);
  EXPECT_EQ(open.knee, 4);
  EXPECT_EQ(open.best, 2);
  EXPECT_FALSE(open.open_ended);
  EXPECT_EQ(judge(points, true).knee, 4);
  EXPECT_TRUE(judge(std::span(points).first(2), false).open_ended);
}

TEST(Sweep, FindsALimitFromEitherSide) {
  for (const double start : {0.3, 1.0, 50.0}) {
    int asked = 0;
    const auto limit = find_limit(start, 0.05, [&](double rate) {
      ++asked;
      return rate <= 7.3;
    });
    ASSERT_TRUE(limit);
    EXPECT_LE(*limit, 7.3);
    EXPECT_GE(*limit, 7.3 / 1.05);
    EXPECT_LT(asked, 16);
  }
  EXPECT_FALSE(find_limit(1, 0.05, [](double) { return false; }));
}

}  // namespace
}  // namespace paternoster::bench
