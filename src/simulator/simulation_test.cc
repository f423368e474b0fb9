#include "simulator/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/summary_json.h"
#include "scheduler/presets.h"

namespace paternoster::simulator {
namespace {

using measure::RequestRecord;
using measure::Status;

constexpr std::int64_t kMs = 1'000'000;

Options small_options(const char* preset = "vllm") {
  Options options;
  options.config.choices = *scheduler::choices_of(preset);
  options.config.limits = {.max_seqs = 8, .step_tokens = 64, .block_size = 4, .num_blocks = 200, .max_len = 400};
  options.config.limits.prefix_cache = false;
  options.model.terms = {10 * kMs * 1000, 1000 * 1000, 1000 * 1000, 0, 0};  // 10 ms + 1 us a token
  options.check_invariants = true;
  return options;
}

workload::Source source_of(const char* arrivals, std::size_t count, const char* input = "fixed:20",
                           const char* output = "fixed:5", double rate = 10) {
  workload::Description description;
  description.count = count;
  description.arrivals = *workload::parse_arrivals(arrivals);
  description.rate = rate;
  description.classes = {{"", 1, *workload::parse_lengths(input), *workload::parse_lengths(output)}};
  return *workload::Source::create(description);
}

struct Trip {
  Outcome outcome;
  std::vector<RequestRecord> records;
};

Trip run(Options options, workload::Source source) {
  Trip run;
  options.on_record = [&](const RequestRecord& record) { run.records.push_back(record); };
  auto simulation = Simulation::create(std::move(options), std::move(source));
  EXPECT_TRUE(simulation) << simulation.error().message;
  run.outcome = simulation->run();
  return run;
}

TEST(Simulation, OneRequestTakesWhatTheModelSays) {
  const Trip one = run(small_options(), source_of("at-once", 1));
  ASSERT_EQ(one.records.size(), 1u);
  const RequestRecord& record = one.records[0];
  EXPECT_EQ(record.first_token_ns, 10 * kMs + 20'000);
  EXPECT_EQ(record.last_token_ns, record.first_token_ns + 4 * (10 * kMs + 1000));
  EXPECT_EQ(record.output_tokens, 5);
  EXPECT_EQ(record.largest_gap_ns, 10 * kMs + 1000);
  EXPECT_EQ(one.outcome.steps, 5u);
  EXPECT_EQ(one.outcome.summary.all.itl.count(), 4u);
  EXPECT_NEAR(one.outcome.summary.all.tpot.mean(), 10 * kMs + 1000, 1e-6);
}

TEST(Simulation, OverheadsAreAddedWhereTheyArise) {
  Options options = small_options();
  options.model.ingest_ns = 3 * kMs;
  options.model.ingest_token_ps = 1'000'000;  // 20 tokens: 20 us
  options.model.step_overhead_ns = 2 * kMs;
  options.model.egress_ns = kMs;
  const Trip one = run(options, source_of("at-once", 1));
  EXPECT_EQ(one.records[0].first_token_ns, 3 * kMs + 20'000 + 12 * kMs + 20'000 + kMs);
  EXPECT_EQ(one.records[0].largest_gap_ns, 12 * kMs + 1000) << "what every token pays shows in no gap";
}

TEST(Simulation, EveryRequestEndsOnceUnderEveryPresetAndShortMemory) {
  for (const scheduler::Preset& preset : scheduler::presets()) {
    SCOPED_TRACE(preset.name);
    Options options = small_options(std::string(preset.name).c_str());
    options.config.limits.num_blocks = 30;
    options.config.limits.max_len = 100;
    options.config.limits.max_queue = 100000;
    const Trip all = run(options, source_of("gamma:0.3", 300, "uniform:1-60", "uniform:1-40", 40));
    EXPECT_EQ(all.records.size(), 300u);
    for (const RequestRecord& record : all.records) {
      EXPECT_EQ(record.status, Status::kCompleted) << record.error;
      EXPECT_LE(record.scheduled_ns, record.admitted_ns);
      EXPECT_LT(record.admitted_ns, record.first_token_ns);
      EXPECT_LE(record.first_token_ns, record.last_token_ns);
      EXPECT_LE(record.last_token_ns, record.ended_ns);
    }
    EXPECT_EQ(all.outcome.stats.requests_finished, 300u);
  }
}

std::string everything(const Trip& run) {
  std::string text;
  for (const RequestRecord& record : run.records) append_record(text, record);
  JsonObject object(text);
  append_summary(object, run.outcome.summary);
  object.end();
  return text;
}

TEST(Simulation, IsTheSameToTheBitBySeed) {
  const auto once = [](std::uint64_t seed) {
    workload::Description description = source_of("gamma:0.5", 200, "uniform:1-90", "exponential:20").description();
    description.seed = seed;
    return everything(run(small_options(), *workload::Source::create(description)));
  };
  EXPECT_EQ(once(1), once(1));
  EXPECT_NE(once(1), once(2));
}

TEST(Simulation, ClosedStreamsKeepTheirConcurrency) {
  Options options = small_options();
  std::int32_t most = 0;
  options.on_step = [&](const StepSeen& step) {
    most = std::max(most, static_cast<std::int32_t>(step.load.sequences));
  };
  const Trip all = run(options, source_of("closed:3:5ms", 50));
  EXPECT_EQ(all.records.size(), 50u);
  EXPECT_EQ(most, 3);
}

TEST(Simulation, ADeadEngineLosesItsRequestsAndServesAgain) {
  Options options = small_options();
  options.faults = {*parse_fault("die@1s"), *parse_fault("return@2s"), *parse_fault("slow:300@3s")};
  const Trip all = run(options, source_of("constant", 50, "fixed:20", "fixed:20", 10));
  std::size_t failed = 0;
  std::int64_t slow = 0;
  std::int64_t quick = 0;
  for (const RequestRecord& record : all.records) {
    failed += record.status == Status::kFailed ? 1 : 0;
    if (record.scheduled_ns == 2500 * kMs) quick = record.e2e_ns();
    if (record.scheduled_ns == 3500 * kMs) slow = record.e2e_ns();
  }
  EXPECT_EQ(all.records.size(), 50u);
  EXPECT_GE(failed, 11u);
  EXPECT_LE(failed, 14u);
  EXPECT_GT(slow, 2 * quick);
}

TEST(Simulation, SaysWhenMoreCameThanWasServed) {
  EXPECT_FALSE(run(small_options(), source_of("poisson", 200, "fixed:20", "fixed:20", 5)).outcome.overloaded());
  Options options = small_options();
  options.config.limits.max_queue = 100000;
  EXPECT_TRUE(run(options, source_of("poisson", 400, "fixed:20", "fixed:20", 400)).outcome.overloaded());
  options.config.limits.max_queue = 4;
  const Trip refused = run(options, source_of("poisson", 400, "fixed:20", "fixed:20", 400));
  EXPECT_TRUE(refused.outcome.overloaded());
  EXPECT_GT(refused.outcome.summary.all.refused, 0u);
}

TEST(Simulation, AllowanceIsWhatReservationsAreMadeBy) {
  Options options = small_options("orca");
  const Trip exact = run(options, source_of("at-once", 40));
  options.allowed_tokens = 300;
  const Trip generous = run(options, source_of("at-once", 40));
  EXPECT_GT(generous.outcome.end_ns, exact.outcome.end_ns) << "fewer seats, though answers are as short";
  EXPECT_EQ(generous.outcome.summary.all.output_tokens, exact.outcome.summary.all.output_tokens);
}

TEST(Simulation, SharedPrefixesAreFoundInTheCache) {
  workload::Description description = source_of("constant", 20, "fixed:40", "fixed:5", 5).description();
  description.prefix_tokens = 32;
  Options options = small_options();
  options.config.limits.prefix_cache = true;
  const Trip all = run(options, *workload::Source::create(description));
  EXPECT_EQ(all.outcome.summary.all.cached_tokens, 19 * 32);
}

TEST(Simulation, TheJournalReplays) {
  scheduler::Journal journal;
  Options options = small_options();
  options.journal = &journal;
  const Trip all = run(options, source_of("gamma:0.3", 100, "uniform:1-60", "uniform:1-40", 40));
  const auto replay = scheduler::replay(journal.bytes());
  ASSERT_TRUE(replay) << replay.error().message;
  EXPECT_EQ(replay->first_difference, std::nullopt);
  EXPECT_GT(replay->plans, all.outcome.steps);
}

TEST(Faults, AreReadOrRefused) {
  EXPECT_EQ(parse_fault("slow:250@1m")->percent, 250);
  EXPECT_EQ(parse_fault("die#3@1m")->instance, 2);
  for (const char* bad : {"", "die", "die@", "slow@1s", "slow:0@1s", "burn@1s", "die#0@1s"}) {
    EXPECT_FALSE(parse_fault(bad)) << bad;
  }
}

}  // namespace
}  // namespace paternoster::simulator
