#include "workload/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace paternoster::workload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Trace trace_of(const std::string& text, TraceOptions options = {}) {
  std::istringstream in(text);
  auto trace = read_trace(in, "t", options);
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? *trace : Trace{};
}

std::string error_of(const std::string& text, TraceOptions options = {}) {
  std::istringstream in(text);
  const auto trace = read_trace(in, "t", options);
  return trace ? "none" : trace.error().message;
}

std::vector<std::int64_t> times_of(const Trace& trace) {
  std::vector<std::int64_t> times;
  for (const TraceRow& row : trace.rows) times.push_back(row.at_ns);
  return times;
}

TEST(Trace, ReadsAzure) {
  const Trace trace = trace_of(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
      "2023-11-16 23:59:59.5000000,374,44\r\n"
      "2023-11-17 00:00:00.2500001,396,109\r\n"
      "2023-11-17 01:00:00+01:00,1,2\r\n");
  EXPECT_EQ(trace.format, TraceFormat::kAzure);
  EXPECT_THAT(times_of(trace), ElementsAre(0, 500'000'000, 750'000'100));
  EXPECT_EQ(trace.rows[0].input_tokens, 374);
  EXPECT_EQ(trace.rows[2].output_tokens, 109);
}

TEST(Trace, ReadsBurstGptWithoutItsFailures) {
  const Trace trace = trace_of(
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,1,2.5,ChatGPT,472,18,490,Conversation log\n"
      "45.5,1,1,GPT-4,1087,0,1087,API log\n"
      "118,2,1,GPT-4,417,276,693,API log\n");
  EXPECT_EQ(trace.format, TraceFormat::kBurstGpt);
  EXPECT_EQ(trace.left_out, 1);
  EXPECT_THAT(times_of(trace), ElementsAre(0, 113'000'000'000));
}

TEST(Trace, ReadsVidurWithAndWithoutTimes) {
  const Trace timed = trace_of("arrived_at,num_prefill_tokens,num_decode_tokens\n2.5,10,3\n1.5,20,4\n");
  EXPECT_THAT(times_of(timed), ElementsAre(0, 1'000'000'000));
  EXPECT_EQ(timed.rows[0].input_tokens, 20) << "rows come in order of time";
  EXPECT_FALSE(trace_of("num_prefill_tokens,num_decode_tokens,num_total_tokens\n3772,54,3826\n").timed);
}

TEST(Trace, TellsMooncakeFromTimedTraceByItsHashes) {
  const Trace mooncake = trace_of(
      R"({"timestamp": 27000, "input_length": 600, "output_length": 5, "hash_ids": [1, 2]})"
      "\n"
      R"({"timestamp": 30000, "input_length": 512, "output_length": 5, "hash_ids": [1]})");
  EXPECT_EQ(mooncake.format, TraceFormat::kMooncake);
  EXPECT_EQ(mooncake.block_tokens, 512);
  EXPECT_THAT(times_of(mooncake), ElementsAre(0, 3'000'000'000));
  const Trace timed = trace_of(
      R"({"timestamp": 0.5, "input_length": 20, "output_length": 5, "hash_ids": [1, 2]})"
      "\n"
      R"({"timestamp": 2, "input_length": 3, "output_length": 5, "hash_ids": [7]})");
  EXPECT_EQ(timed.format, TraceFormat::kTimedTrace);
  EXPECT_EQ(timed.block_tokens, 16);
  EXPECT_THAT(times_of(timed), ElementsAre(0, 1'500'000'000));
  const std::string unclear = R"({"timestamp": 1, "input_length": 3, "output_length": 5})";
  EXPECT_THAT(error_of(unclear), HasSubstr("seconds or milliseconds"));
  EXPECT_EQ(trace_of(unclear, {TraceFormat::kMooncake, {}, {}}).rows.size(), 1u);
}

TEST(Trace, NamesTheLineThatIsWrong) {
  const std::string azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.97,4808,10\n";
  EXPECT_THAT(error_of(azure + "2023-11-16 18:17:04,12\n"), HasSubstr("t:3: it has 2 fields"));
  EXPECT_THAT(error_of(azure + "2023-13-16 18:17:04,12,1\n"), HasSubstr("t:3: '2023-13-16 18:17:04'"));
  EXPECT_THAT(error_of(azure + "2023-11-16 18:17:04,-12,1\n"), HasSubstr("t:3: '-12'"));
  EXPECT_THAT(error_of(azure + "2023-11-16 18:17:04,12,99999999999\n"), HasSubstr("t:3:"));
  EXPECT_THAT(error_of("a,b\n1,2\n"), HasSubstr("t:1:"));
  EXPECT_THAT(error_of(""), HasSubstr("empty"));
  EXPECT_THAT(error_of("TIMESTAMP,ContextTokens,GeneratedTokens\n"), HasSubstr("no request"));
  const std::string row = R"({"timestamp": 1, "input_length": 3, "output_length": 5, "hash_ids": [1]})";
  EXPECT_THAT(error_of(row + "\n{oops\n"), HasSubstr("t:2: it is not JSON"));
  EXPECT_THAT(error_of(row + "\n" R"({"timestamp": -1, "input_length": 3, "output_length": 5})"),
              HasSubstr("t:2: \"timestamp\""));
  EXPECT_THAT(error_of(row + "\n" R"({"timestamp": 1, "input_length": 3, "output_length": 5, "hash_ids": [0.5]})"),
              HasSubstr("t:2: \"hash_ids\""));
  EXPECT_THAT(error_of(row, {TraceFormat::kAzure, {}, {}}), HasSubstr("CSV"));
  EXPECT_THAT(error_of(azure, {TraceFormat::kMooncake, {}, {}}), HasSubstr("JSON"));
}

// The fuzz target's idea without a fuzzer: every kept file with bytes changed, cut or doubled.
TEST(Trace, AnyBytesAreReadOrRefusedWithALine) {
  RandomStream random(11, 1);
  std::size_t refused = 0;
  for (const auto& file : std::filesystem::directory_iterator(PATERNOSTER_SOURCE_DIR "/tests/corpus/trace")) {
    std::ifstream in(file.path(), std::ios::binary);
    const std::string kept(std::istreambuf_iterator<char>(in), {});
    for (int attempt = 0; attempt < 400; ++attempt) {
      std::string text = kept;
      for (std::uint64_t edit = random.below(4) + 1; edit > 0; --edit) {
        const std::size_t at = random.below(text.size());
        switch (random.below(4)) {
          case 0: text[at] = static_cast<char>(random.below(256)); break;
          case 1: text[at] = "0123456789-.,\"{}[]e"[random.below(18)]; break;
          case 2: text.insert(at, text.substr(at / 2, random.below(40))); break;
          default: text.resize(at + 1);
        }
      }
      std::istringstream changed(text);
      const auto trace = read_trace(changed, "t");
      if (trace) continue;
      ++refused;
      EXPECT_TRUE(trace.error().message.starts_with("t:")) << trace.error().message;
    }
  }
  EXPECT_GT(refused, 500u);
}

double cv_of(const std::vector<std::int64_t>& times) {
  double sum = 0;
  double squares = 0;
  for (std::size_t at = 1; at < times.size(); ++at) {
    const double gap = static_cast<double>(times[at] - times[at - 1]) / 1e9;
    sum += gap;
    squares += gap * gap;
  }
  const auto count = static_cast<double>(times.size() - 1);
  const double mean = sum / count;
  return std::sqrt(squares / count - mean * mean) / mean;
}

TEST(ArrivalTimes, HaveTheRateAndTheBurstinessThatWereAsked) {
  const auto poisson = arrival_times(*parse_arrivals("poisson"), 5, 20000, 1);
  EXPECT_EQ(poisson.back(), 4'000'000'000'000) << "scaled to n / rate";
  EXPECT_NEAR(cv_of(poisson), 1, 0.03);
  EXPECT_NEAR(cv_of(arrival_times(*parse_arrivals("gamma:0.25"), 5, 20000, 1)), 2, 0.1);
  EXPECT_NEAR(cv_of(arrival_times(*parse_arrivals("gamma:4"), 5, 20000, 1)), 0.5, 0.02);
  EXPECT_NEAR(cv_of(arrival_times(*parse_arrivals("constant"), 5, 100, 1)), 0, 1e-6);
  EXPECT_THAT(arrival_times(*parse_arrivals("burst:2"), 4, 5, 1),
              ElementsAre(0, 0, 500'000'000, 500'000'000, 1'000'000'000));
  EXPECT_EQ(poisson, arrival_times(*parse_arrivals("poisson"), 5, 20000, 1));
  EXPECT_NE(poisson, arrival_times(*parse_arrivals("poisson"), 5, 20000, 2));
}

TEST(ArrivalTimes, SwingWithTheDay) {
  const auto times = arrival_times(*parse_arrivals("diurnal:100s:0.9"), 50, 50000, 3);
  std::int64_t night = 0;
  std::int64_t noon = 0;
  for (const std::int64_t at : times) {
    const std::int64_t phase = at / 1'000'000'000 % 100;
    night += phase < 10 || phase >= 90 ? 1 : 0;
    noon += phase >= 40 && phase < 60 ? 1 : 0;
  }
  EXPECT_GT(noon, 8 * night);
  EXPECT_NEAR(static_cast<double>(times.back()) / 1e9, 1000, 50);
}

TEST(ArrivalTimes, RampFromOneRateToAnother) {
  for (const char* text : {"ramp:10:90:100s", "ramp:90:10:100s", "ramp:50:50:100s", "ramp:0:100:100s"}) {
    const auto ramp = parse_arrivals(text);
    ASSERT_TRUE(ramp) << text;
    EXPECT_DOUBLE_EQ(ramp->mean_rate, 50);
    EXPECT_DOUBLE_EQ(expected_count(*ramp, 50, 100'000'000'000), 5000);
    const double from = 50 * ramp->from;
    const double to = 100 - from;
    // In the middle half of the ramp, and in the ten seconds after it.
    const auto times = arrival_times(*ramp, 50, 7000, 3);
    EXPECT_TRUE(std::ranges::is_sorted(times));
    const auto within = [&](double begin_s, double end_s) {
      return std::ranges::count_if(times, [&](std::int64_t ns) {
        return static_cast<double>(ns) >= begin_s * 1e9 && static_cast<double>(ns) < end_s * 1e9;
      });
    };
    EXPECT_NEAR(within(0, 25), 25 * (from + (to - from) / 8), 120) << text;
    EXPECT_NEAR(within(25, 75), 2500, 200) << text;
    EXPECT_NEAR(within(100, 110), 10 * to, 100) << text;
    EXPECT_NEAR(expected_count(*ramp, 50, 110'000'000'000), 5000 + 10 * to, 1e-6);
  }
  // Scaled, as advise and sweeps scale a rate.
  const auto ramp = *parse_arrivals("ramp:10:90:100s");
  EXPECT_DOUBLE_EQ(expected_count(ramp, 100, 100'000'000'000), 10'000);
  for (const char* wrong : {"ramp", "ramp:1:2", "ramp:1:0:5s", "ramp:-1:2:5s", "ramp:1:2:0s", "ramp:a:2:5s"}) {
    EXPECT_FALSE(parse_arrivals(wrong)) << wrong;
  }
}

TEST(ArrivalTimes, WhatIsNoProcessIsRefused) {
  for (const char* bad : {"", "poison", "gamma", "gamma:0", "gamma:x", "burst:0", "diurnal:1h", "diurnal:1h:2",
                          "closed:0", "closed:4:5parsec", "constant:5"}) {
    EXPECT_FALSE(parse_arrivals(bad)) << bad;
  }
}

double mean_of(const char* text, int draws = 40000) {
  RandomStream random(7, 1);
  const auto lengths = parse_lengths(text);
  EXPECT_TRUE(lengths) << text;
  double sum = 0;
  for (int at = 0; at < draws; ++at) sum += lengths->draw(random);
  return sum / draws;
}

TEST(Lengths, HaveTheMeansThatAreWritten) {
  EXPECT_EQ(mean_of("fixed:512"), 512);
  EXPECT_NEAR(mean_of("uniform:100-200"), 150, 1);
  EXPECT_NEAR(mean_of("exponential:128"), 128.5, 2);
  EXPECT_NEAR(mean_of("exponential:128:32"), 16, 1) << "the cap is kept by drawing again";
  EXPECT_NEAR(mean_of("lognormal:100:0.5"), 100 * std::exp(0.125), 2);
}

TEST(Lengths, ReadAFileOfThem) {
  const std::string path = testing::TempDir() + "/lengths.txt";
  std::ofstream(path) << "5\n7\n";
  RandomStream random(1, 1);
  std::set<std::int32_t> seen;
  for (int at = 0; at < 64; ++at) seen.insert(parse_lengths("empirical:" + path)->draw(random));
  EXPECT_THAT(seen, ElementsAre(5, 7));
  std::ofstream(path) << "5\nseven\n";
  EXPECT_THAT(parse_lengths("empirical:" + path).error().message, HasSubstr(":2: 'seven'"));
}

TEST(Lengths, WhatIsNoDistributionIsRefused) {
  for (const char* bad : {"", "5", "fixed", "fixed:", "fixed:0", "fixed:1:2", "uniform:5", "uniform:5-2",
                          "normal:5:2", "exponential:0", "exponential:5:0", "lognormal:5", "empirical:/absent"}) {
    EXPECT_FALSE(parse_lengths(bad)) << bad;
  }
}

Description small() {
  Description description;
  description.count = 200;
  description.arrivals = *parse_arrivals("poisson");
  description.rate = 10;
  description.classes = {{"chat", 3, *parse_lengths("uniform:20-40"), *parse_lengths("fixed:5")},
                         {"batch", 1, *parse_lengths("fixed:100"), *parse_lengths("fixed:50")}};
  description.tenants = {{"a", 1}, {"b", 1}};
  return description;
}

TEST(Source, MixesClassesByTheirShares) {
  auto source = Source::create(small());
  ASSERT_TRUE(source);
  std::size_t batch = 0;
  std::size_t b = 0;
  std::size_t count = 0;
  while (const Arrival* arrival = source->next()) {
    EXPECT_EQ(arrival->number, count++);
    batch += source->classes()[arrival->class_index].name == "batch" ? 1 : 0;
    b += arrival->tenant_index;
    source->take();
  }
  EXPECT_EQ(count, 200u);
  EXPECT_NEAR(static_cast<double>(batch), 50, 20);
  EXPECT_NEAR(static_cast<double>(b), 100, 30);
}

TEST(Source, ClosedStreamsWaitForTheirAnswers) {
  Description description = small();
  description.arrivals = *parse_arrivals("closed:2:1s");
  auto source = Source::create(description);
  ASSERT_TRUE(source);
  source->take(), source->next(), source->take();
  EXPECT_EQ(source->next(), nullptr);
  source->ended(5'000'000'000);
  ASSERT_NE(source->next(), nullptr);
  EXPECT_EQ(source->next()->at_ns, 6'000'000'000);
  source->ended(4'000'000'000);
  EXPECT_EQ(source->next()->at_ns, 5'000'000'000) << "an earlier turn comes first";
}

TEST(Source, BeginsATraceAnewWithContentOfItsOwn) {
  auto trace = std::make_shared<Trace>(trace_of(
      R"({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1, 2]})"
      "\n"
      R"({"timestamp": 1000, "input_length": 700, "output_length": 6, "hash_ids": [1, 3]})"));
  Description description;
  description.trace = trace;
  description.count = 4;
  description.speed = 2;
  auto source = Source::create(description);
  ASSERT_TRUE(source);
  std::vector<std::int64_t> times;
  std::vector<std::vector<TokenId>> prompts;
  while (const Arrival* arrival = source->next()) {
    times.push_back(arrival->at_ns);
    source->write_prompt(*arrival, prompts.emplace_back());
    source->take();
  }
  EXPECT_THAT(times, ElementsAre(0, 500'000'000, 1'000'000'000, 1'500'000'000));
  const auto common = [&](std::size_t a, std::size_t b) {
    std::size_t at = 0;
    while (at < prompts[a].size() && at < prompts[b].size() && prompts[a][at] == prompts[b][at]) ++at;
    return at;
  };
  EXPECT_EQ(common(0, 1), 512u);
  EXPECT_EQ(common(2, 3), 512u);
  EXPECT_EQ(common(0, 2), 0u);
}

TEST(Source, SharesPrefixesAndNothingElse) {
  Description description = small();
  description.prefix_tokens = 16;
  auto source = Source::create(description);
  std::vector<TokenId> first;
  std::vector<TokenId> second;
  source->write_prompt(*source->next(), first);
  source->take();
  source->write_prompt(*source->next(), second);
  EXPECT_TRUE(std::equal(first.begin(), first.begin() + 16, second.begin()));
  EXPECT_NE(first[16], second[16]);
}

TEST(Source, ADescriptionThatCannotBeIsRefused) {
  EXPECT_FALSE(Source::create({}));
  Description description = small();
  description.rate = 0;
  EXPECT_FALSE(Source::create(description));
  description = small();
  description.classes[0].share = 0;
  EXPECT_FALSE(Source::create(description));
  Description untimed;
  untimed.trace = std::make_shared<Trace>(trace_of("num_prefill_tokens,num_decode_tokens\n1,2\n"));
  EXPECT_THAT(Source::create(untimed).error().message, HasSubstr("arrival process"));
}

}  // namespace
}  // namespace paternoster::workload
