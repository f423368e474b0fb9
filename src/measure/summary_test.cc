#include "measure/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "measure/summary_json.h"

namespace paternoster::measure {
namespace {

constexpr std::int64_t kMs = 1'000'000;

RequestRecord record(std::int64_t scheduled_ms, std::vector<std::int64_t> tokens_ms) {
  RequestRecord made;
  made.scheduled_ns = scheduled_ms * kMs;
  made.sent_ns = made.scheduled_ns + kMs;
  made.input_tokens = 10;
  made.output_tokens = static_cast<std::int32_t>(tokens_ms.size());
  for (const std::int64_t at : tokens_ms) {
    if (!made.arrivals.empty()) {
      made.largest_gap_ns = std::max(made.largest_gap_ns, at * kMs - made.arrivals.back().at_ns);
    }
    made.arrivals.push_back({at * kMs, 1});
  }
  made.first_token_ns = made.arrivals.front().at_ns;
  made.last_token_ns = made.ended_ns = made.arrivals.back().at_ns;
  return made;
}

TEST(Distribution, InterpolatesPercentilesAsNumpyDoes) {
  Distribution values;
  for (const double value : {4.0, 1.0, 3.0, 2.0}) values.add(value);
  EXPECT_DOUBLE_EQ(values.mean(), 2.5);
  EXPECT_DOUBLE_EQ(values.median(), 2.5);
  EXPECT_DOUBLE_EQ(values.percentile(90), 3.7);
  EXPECT_DOUBLE_EQ(values.percentile(0), 1);
  EXPECT_DOUBLE_EQ(values.percentile(100), 4);
  EXPECT_NEAR(values.deviation(), 1.1180339887, 1e-9);
  EXPECT_DOUBLE_EQ(values.share_within(3), 0.75);
}

TEST(Distribution, KeepsAThousandthOfPrecisionInFlatMemory) {
  Distribution many;
  constexpr std::uint64_t kTimes = 1000;
  for (int value = 1; value <= 1000; ++value) many.add(value * 1e6, kTimes);
  ASSERT_GT(many.count(), Distribution::kExact);
  for (const double percent : {1.0, 25.0, 50.0, 95.0, 99.9}) {
    EXPECT_NEAR(many.percentile(percent), percent * 10 * 1e6, percent * 10 * 1e6 / 1000 + 1e6) << percent;
  }
  EXPECT_DOUBLE_EQ(many.mean(), 500.5e6);
  EXPECT_NEAR(many.deviation(), 288.675e6, 1e4);
  EXPECT_DOUBLE_EQ(many.largest(), 1e9);
  EXPECT_NEAR(many.share_within(250e6), 0.25, 0.002);
}

TEST(Distribution, MergesExactAndCountedValuesAlike) {
  Distribution left;
  Distribution right;
  left.add(10, Distribution::kExact);
  right.add(20, Distribution::kExact + 2);
  Distribution both = left;
  both.merge(right);
  EXPECT_EQ(both.count(), 2 * Distribution::kExact + 2);
  EXPECT_NEAR(both.mean(), 15, 0.001);
  EXPECT_NEAR(both.deviation(), 5, 0.001);
  right.merge(left);
  EXPECT_EQ(right.count(), both.count());
  EXPECT_DOUBLE_EQ(right.least(), 10);
}

TEST(Summary, CountsLatencyFromWhenTheRequestWasDue) {
  Summarizer summarizer;
  summarizer.add(record(0, {100, 150, 250}));
  const Summary summary = summarizer.finish(1e9);
  EXPECT_DOUBLE_EQ(summary.all.ttft.mean(), 100e6);
  EXPECT_DOUBLE_EQ(summary.all.e2e.mean(), 250e6);
  EXPECT_DOUBLE_EQ(summary.all.tpot.mean(), 75e6);
  EXPECT_DOUBLE_EQ(summary.all.itl.largest(), 100e6);
  EXPECT_EQ(summary.all.itl.count(), 2u);
  EXPECT_DOUBLE_EQ(summary.all.lateness.mean(), 1e6);
  EXPECT_DOUBLE_EQ(summary.output_rate(), 3);
  EXPECT_DOUBLE_EQ(summary.total_rate(), 13);
}

TEST(Summary, FailuresNeverEnterLatency) {
  Summarizer summarizer(*parse_objectives("e2e=1s"));
  summarizer.add(record(0, {10, 20}));
  RequestRecord failed = record(0, {5000, 9000});
  failed.status = Status::kFailed;
  summarizer.add(failed);
  RequestRecord refused;
  refused.status = Status::kRefused;
  summarizer.add(refused);
  const Summary summary = summarizer.finish(1e9);
  EXPECT_EQ(summary.all.completed, 1u);
  EXPECT_EQ(summary.all.failed, 1u);
  EXPECT_EQ(summary.all.refused, 1u);
  EXPECT_DOUBLE_EQ(summary.all.e2e.largest(), 20e6);
  EXPECT_EQ(summary.all.output_tokens, 2);
  EXPECT_NEAR(summary.all.attainment(), 1.0 / 3, 1e-12);
  EXPECT_FALSE(summary.meets_objectives()) << "who was refused had no service";
}

TEST(Summary, ASingleTokenHasNoTimePerToken) {
  Summarizer summarizer(*parse_objectives("tpot=1ms"));
  summarizer.add(record(0, {10}));
  const Summary summary = summarizer.finish(1e9);
  EXPECT_TRUE(summary.all.tpot.empty());
  EXPECT_EQ(summary.all.good, 1u);
}

TEST(Summary, TellsClassesAndTenantsApart) {
  Summarizer summarizer;
  for (const char* tenant : {"a", "a", "b"}) {
    RequestRecord one = record(0, {10, 30});
    one.tenant = tenant;
    one.class_name = tenant[0] == 'a' ? "chat" : "batch";
    summarizer.add(one);
  }
  const Summary summary = summarizer.finish(1e9);
  EXPECT_EQ(summary.classes.at("chat").completed, 2u);
  EXPECT_EQ(summary.classes.at("batch").completed, 1u);
  EXPECT_NEAR(summary.jain, 9.0 / (2 * 5), 1e-12);
}

TEST(Objectives, AreReadAndSaid) {
  const auto parsed = parse_objectives("ttft=1s,itl=80ms@p99");
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->size(), 2u);
  EXPECT_EQ((*parsed)[0].limit_ns, 1'000'000'000);
  EXPECT_DOUBLE_EQ((*parsed)[0].percent, 95);
  EXPECT_DOUBLE_EQ((*parsed)[1].percent, 99);
  EXPECT_EQ(to_string(*parsed), "ttft=1s@p95,itl=80ms@p99");
  for (const char* bad : {"", "ttft", "ttft=", "speed=1s", "ttft=1s,", "ttft=1parsec", "itl=80ms@p0",
                          "itl=80ms@p101", "itl=80ms@p", "ttft=-1s", "ttft=nans"}) {
    EXPECT_FALSE(parse_objectives(bad)) << bad;
  }
}

TEST(Objectives, AGoodRequestHasNoLongGap) {
  const auto objectives = *parse_objectives("itl=60ms");
  EXPECT_TRUE(is_good(record(0, {10, 70, 130}), objectives));
  EXPECT_FALSE(is_good(record(0, {10, 70, 131}), objectives));
}

TEST(SummaryJson, HasTheKeysOfVllmBench) {
  Summarizer summarizer(*parse_objectives("ttft=1s"));
  summarizer.add(record(0, {100, 150, 250}));
  RequestRecord other = record(0, {100});
  other.class_name = "say \"hi\"\n";
  summarizer.add(other);
  std::string text;
  JsonObject object(text);
  append_summary(object, summarizer.finish(2e9));
  object.end();
  const auto parsed = boost::json::parse(text).as_object();
  for (const char* key : {"duration", "completed", "failed", "total_input_tokens", "total_output_tokens",
                          "request_throughput", "request_goodput", "output_throughput",
                          "total_token_throughput", "mean_ttft_ms", "median_ttft_ms", "std_ttft_ms",
                          "p99_ttft_ms", "mean_tpot_ms", "p99_itl_ms", "mean_e2el_ms"}) {
    EXPECT_TRUE(parsed.contains(key)) << key;
  }
  EXPECT_DOUBLE_EQ(parsed.at("mean_ttft_ms").as_double(), 100);
  EXPECT_DOUBLE_EQ(parsed.at("output_throughput").as_double(), 2);
  EXPECT_TRUE(parsed.at("classes").as_object().contains(other.class_name));
}

TEST(RecordJson, IsReadBackAsItWas) {
  RequestRecord one = record(5, {100, 150});
  one.id = 7;
  one.tenant = "x\"y";
  one.status = Status::kTimedOut;
  one.error = "too late";
  std::string line;
  append_record(line, one);
  const auto read = parse_record(line);
  ASSERT_TRUE(read) << read.error().message;
  std::string again;
  append_record(again, *read);
  EXPECT_EQ(line, again);
  for (const char* bad : {"", "[]", "{}", "{\"id\":1}", R"({"id":1,"status":"odd"})"}) {
    EXPECT_FALSE(parse_record(bad)) << bad;
  }
}

}  // namespace
}  // namespace paternoster::measure
