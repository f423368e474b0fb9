#include "simulator/fleet_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/presets.h"
#include "scheduler/presets.h"

namespace paternoster::simulator {
namespace {

using measure::RequestRecord;
using measure::Status;

constexpr std::int64_t kFleetMs = 1'000'000;

FleetOptions fleet_of(const char* preset, std::int32_t instances = 3, std::int32_t slice = 16) {
  FleetOptions options;
  fleet::Limits limits;
  limits.instances = instances;
  limits.slice_tokens = slice;
  limits.max_batch = 4;
  limits.interval_ns = 200 * kFleetMs;
  options.fleet = *fleet::config_of(preset, limits);
  options.continuous = options.fleet.choices.batching == fleet::Batching::kSolo;
  options.engine.choices = *scheduler::choices_of("vllm");
  options.engine.limits = {.max_seqs = 8, .step_tokens = 64, .block_size = 4, .num_blocks = 200, .max_len = 400};
  options.engine.limits.max_queue = 1 << 20;
  options.engine.limits.prefix_cache = false;
  options.model.terms = {10 * kFleetMs * 1000, 1000 * 1000, 1000 * 1000, 0, 0};  // 10 ms + 1 us a token
  options.fleet.time = time_model_of(options.model, 20);
  options.fleet.memory.kv_tokens = 4000;
  return options;
}

workload::Source fleet_source(std::size_t count, const char* input, const char* output, double rate,
                           const char* arrivals = "poisson") {
  workload::Description description;
  description.count = count;
  description.arrivals = *workload::parse_arrivals(arrivals);
  description.rate = rate;
  description.classes = {{"", 1, *workload::parse_lengths(input), *workload::parse_lengths(output)}};
  return *workload::Source::create(description);
}

struct FleetTrip {
  FleetOutcome outcome;
  std::vector<RequestRecord> records;
};

FleetTrip run_fleet(FleetOptions options, workload::Source source) {
  FleetTrip trip;
  options.on_record = [&](const RequestRecord& record) { trip.records.push_back(record); };
  auto simulation = FleetSimulation::create(std::move(options), std::move(source));
  EXPECT_TRUE(simulation) << simulation.error().message;
  trip.outcome = simulation->run();
  return trip;
}

TEST(FleetSimulation, EveryRequestEndsOnceUnderEveryPreset) {
  for (const fleet::Preset& preset : fleet::presets()) {
    SCOPED_TRACE(preset.name);
    const FleetTrip all =
        run_fleet(fleet_of(std::string(preset.name).c_str()), fleet_source(200, "uniform:1-60", "uniform:1-60", 20));
    EXPECT_EQ(all.records.size(), 200u);
    std::int64_t tokens = 0;
    for (const RequestRecord& record : all.records) {
      EXPECT_EQ(record.status, Status::kCompleted) << record.error;
      EXPECT_LE(record.first_token_ns, record.last_token_ns);
      EXPECT_LE(record.last_token_ns, record.ended_ns);
      EXPECT_GE(record.instance, 0);
      tokens += record.output_tokens;
    }
    EXPECT_EQ(static_cast<std::uint64_t>(tokens), all.outcome.stats.tokens_produced);
  }
}

TEST(FleetSimulation, ASliceTakesWhatTheModelSays) {
  FleetOptions options = fleet_of("scls", 1, 16);
  const FleetTrip one = run_fleet(options, fleet_source(1, "fixed:20", "fixed:40", 1, "at-once"));
  // Three slices: 16 + 16 + 8 tokens; each begins with a prefill over all that is known.
  EXPECT_DOUBLE_EQ(one.outcome.slices_per_request(), 3);
  EXPECT_EQ(one.outcome.stats.tokens_reprefilled, 36u + 52u);
  const RequestRecord& record = one.records[0];
  EXPECT_EQ(record.output_tokens, 40);
  EXPECT_EQ(record.first_token_ns - record.admitted_ns, 10 * kFleetMs + 20'000);
}

TEST(FleetSimulation, StaticBatchesRunToTheirLongest) {
  FleetOptions options = fleet_of("sls", 1);
  const FleetTrip all = run_fleet(options, fleet_source(4, "uniform:5-40", "uniform:5-60", 1, "at-once"));
  std::int64_t end = 0;
  for (const RequestRecord& record : all.records) end = std::max(end, record.last_token_ns);
  EXPECT_GT(all.outcome.stats.tokens_invalid, 0u);
  EXPECT_GT(all.outcome.stats.tokens_padded, 0u);
  EXPECT_EQ(all.outcome.end_ns, end);
}

TEST(FleetSimulation, WhatADeadEngineHadIsServedByOthers) {
  for (const char* preset : {"spread", "scls"}) {
    SCOPED_TRACE(preset);
    FleetOptions options = fleet_of(preset, 2);
    options.faults = {*parse_fault("die#2@1s"), *parse_fault("return#2@3s")};
    const FleetTrip all = run_fleet(options, fleet_source(120, "fixed:20", "fixed:60", 30));
    EXPECT_EQ(all.records.size(), 120u);
    for (const RequestRecord& record : all.records) EXPECT_EQ(record.status, Status::kCompleted) << record.error;
    EXPECT_GT(all.outcome.stats.slices_lost, 0u);
  }
}

TEST(FleetSimulation, MoreEnginesServeSooner) {
  const FleetTrip one = run_fleet(fleet_of("spread", 1), fleet_source(100, "fixed:20", "fixed:30", 60));
  const FleetTrip four = run_fleet(fleet_of("spread", 4), fleet_source(100, "fixed:20", "fixed:30", 60));
  EXPECT_LT(four.outcome.summary.all.e2e.mean(), one.outcome.summary.all.e2e.mean());
}

TEST(FleetSimulation, ImpossibleFleetsAreRefused) {
  FleetOptions options = fleet_of("sls");
  options.continuous = true;
  EXPECT_FALSE(FleetSimulation::create(options, fleet_source(1, "fixed:2", "fixed:2", 1)));
  options = fleet_of("spread", 2);
  options.faults = {*parse_fault("die#3@1s")};
  EXPECT_FALSE(FleetSimulation::create(options, fleet_source(1, "fixed:2", "fixed:2", 1)));
}

}  // namespace
}  // namespace paternoster::simulator
