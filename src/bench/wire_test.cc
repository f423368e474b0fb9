// The load generator against the mock engine, over real sockets. Counts are exact; times are held to the
// mock's own stamps (same clock), never to how fast this machine is: benchmarks/bench judges that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "bench/analysis.h"
#include "bench/load.h"
#include "mock/server.h"

namespace paternoster::bench {
namespace {

using measure::Status;

class Rig {
 public:
  explicit Rig(mock::MockOptions options = {}, std::chrono::milliseconds patience = std::chrono::minutes(1)) {
    auto made = mock::MockServer::create(std::move(options));
    EXPECT_TRUE(made) << made.error().message;
    server_ = std::move(*made);
    thread_ = std::thread([this] { server_->run(); });
    client::CallerOptions caller;
    caller.url = *client::parse_server_url(server_->address());
    caller.silence_timeout = patience;
    caller_ = std::move(*client::Caller::create(context_, caller));
  }
  ~Rig() { stop(); }

  LoadResult play(workload::Description work, LoadOptions options = {}) {
    auto source = workload::Source::create(std::move(work));
    EXPECT_TRUE(source) << source.error().message;
    const PromptMaker prompts(WordScale{0, 1, "given"});
    options.body.model = "mock";
    Load load(context_, *caller_, *source, prompts, options);
    return load.run();
  }
  // The mock's own record, in the order in which requests ended.
  std::map<std::string, mock::MockRequest> stop() {
    std::map<std::string, mock::MockRequest> truth;
    if (!thread_.joinable()) return truth;
    server_->stop();
    thread_.join();
    for (const mock::MockRequest& request : server_->requests()) truth[request.request_id] = request;
    return truth;
  }
  boost::asio::io_context& context() { return context_; }
  client::Caller& caller() { return *caller_; }

 private:
  boost::asio::io_context context_;
  std::unique_ptr<mock::MockServer> server_;
  std::thread thread_;
  std::unique_ptr<client::Caller> caller_;
};

workload::Description work_of(std::size_t count, const char* arrivals, double rate, std::int32_t input,
                              std::int32_t output) {
  workload::Description work;
  work.count = count;
  work.arrivals = *workload::parse_arrivals(arrivals);
  work.rate = rate;
  work.classes = {{"", 1, *workload::parse_lengths("fixed:" + std::to_string(input)),
                   *workload::parse_lengths("fixed:" + std::to_string(output)), 0, 0}};
  return work;
}

mock::MockOptions quick() {
  mock::MockOptions options;
  options.ttft_ns = 5'000'000;
  options.itl_ns = 1'000'000;
  return options;
}

std::map<Status, int> statuses(const LoadResult& result) {
  std::map<Status, int> counts;
  for (const Sighting& sighting : result.sightings) ++counts[sighting.record.status];
  return counts;
}

TEST(Wire, CountsAreExactAndTimesComeAfterTheServersOwn) {
  for (const api::Route route : {api::Route::kChat, api::Route::kText}) {
    Rig rig(quick());
    LoadOptions options;
    options.body.route = route;
    const LoadResult result = rig.play(work_of(40, "poisson", 200, 12, 8), options);
    ASSERT_EQ(result.sightings.size(), 40u);
    const auto truth = rig.stop();
    ASSERT_EQ(truth.size(), 40u);
    for (const Sighting& sighting : result.sightings) {
      const measure::RequestRecord& record = sighting.record;
      ASSERT_TRUE(record.completed()) << record.error;
      // The chat route's role is a token of its own.
      EXPECT_EQ(record.input_tokens, route == api::Route::kChat ? 13 : 12);
      EXPECT_EQ(record.output_tokens, 8);
      EXPECT_EQ(record.arrivals.size(), 8u);
      EXPECT_FALSE(sighting.spread);
      EXPECT_LE(record.scheduled_ns, record.sent_ns);
      EXPECT_LT(record.sent_ns, record.first_token_ns);
      EXPECT_LE(record.first_token_ns, record.last_token_ns);
      EXPECT_LE(record.last_token_ns, record.ended_ns);
      // What the client saw took at least as long as what the server did.
      const mock::MockRequest& mine = truth.at("bench-" + std::to_string(record.id));
      EXPECT_GE(record.first_token_ns - record.sent_ns, mine.first_ns - mine.arrived_ns);
      EXPECT_GE(record.last_token_ns - record.sent_ns, mine.last_ns - mine.arrived_ns);
      EXPECT_GE(mine.first_ns - mine.seated_ns, 5'000'000);
    }
  }
}

TEST(Wire, TheSameIsSeenHoweverTheBytesComeAndEventsEnd) {
  for (int variant = 0; variant < 4; ++variant) {
    mock::MockOptions options = quick();
    options.itl_ns = 0;
    options.split_bytes = variant == 0 ? 1 : 7;
    options.crlf = variant == 1;
    options.comments = variant == 2;
    options.until_closed = variant == 3;
    Rig rig(options);
    const LoadResult result = rig.play(work_of(6, "closed:3", 1, 4, 5));
    for (const Sighting& sighting : result.sightings) {
      ASSERT_TRUE(sighting.record.completed()) << variant << ": " << sighting.record.error;
      EXPECT_EQ(sighting.record.output_tokens, 5) << variant;
      EXPECT_EQ(sighting.chunks, 5) << variant;
    }
  }
}

TEST(Wire, SeveralTokensAChunkAreCounted) {
  mock::MockOptions options = quick();
  options.tokens_per_chunk = 3;
  for (const bool told : {true, false}) {
    Rig rig(options);
    LoadOptions load;
    load.body.continuous_usage = told;
    const LoadResult result = rig.play(work_of(3, "closed:1", 1, 4, 8), load);
    for (const Sighting& sighting : result.sightings) {
      EXPECT_EQ(sighting.record.output_tokens, 8);
      ASSERT_EQ(sighting.record.arrivals.size(), 3u);
      EXPECT_EQ(sighting.spread, !told);
      std::int32_t sum = 0;
      for (const auto& arrival : sighting.record.arrivals) sum += arrival.tokens;
      EXPECT_EQ(sum, 8);
      if (told) {
        EXPECT_EQ(sighting.record.arrivals[0].tokens, 3);
      }
    }
  }
}

TEST(Wire, FailuresAreNamedAndEnterNoLatency) {
  using mock::FaultKind;
  struct Case {
    FaultKind kind;
    Status status;
    const char* error;
  };
  for (const Case& one : {Case{FaultKind::kRefuse, Status::kRefused, "status 503: the mock refuses"},
                          Case{FaultKind::kError, Status::kFailed, "in the stream: the mock fails"},
                          Case{FaultKind::kDisconnect, Status::kFailed, "closed the connection in mid-answer"},
                          Case{FaultKind::kTruncate, Status::kFailed, "without finish_reason"},
                          Case{FaultKind::kGarble, Status::kFailed, "not a JSON object"},
                          Case{FaultKind::kStall, Status::kTimedOut, "nothing came for 3 s"}}) {
    mock::MockOptions options = quick();
    options.faults = {{one.kind, 4, 2, 503}};
    Rig rig(options, std::chrono::seconds(one.kind == FaultKind::kStall ? 3 : 60));
    LoadResult result = rig.play(work_of(8, "closed:2", 1, 4, 5));
    EXPECT_EQ(statuses(result)[one.status], 2) << one.error;
    EXPECT_EQ(statuses(result)[Status::kCompleted], 6) << one.error;
    for (const Sighting& sighting : result.sightings) {
      if (sighting.record.completed()) continue;
      EXPECT_THAT(sighting.record.error, testing::HasSubstr(one.error));
    }
    const BenchRun run = analyse(std::move(result), {});
    EXPECT_EQ(run.summary.all.ttft.count(), 6u);
    EXPECT_EQ(run.summary.all.output_tokens, 30);
  }
}

TEST(Wire, NobodyThereIsAFailureOfEachRequest) {
  boost::asio::io_context context;
  client::CallerOptions options;
  options.url = *client::parse_server_url("http://127.0.0.1:1");
  const auto caller = std::move(*client::Caller::create(context, options));
  auto source = std::move(*workload::Source::create(work_of(3, "at-once", 1, 4, 4)));
  const PromptMaker prompts(WordScale{});
  Load load(context, *caller, source, prompts, {});
  LoadResult result = load.run();
  EXPECT_EQ(statuses(result)[Status::kFailed], 3);
  EXPECT_THAT(result.sightings[0].record.error, testing::HasSubstr("cannot connect to http://127.0.0.1:1"));
}

TEST(Wire, LatencyCountsFromTheTimeARequestWasMeantToLeave) {
  mock::MockOptions options = quick();
  Rig rig(options);
  LoadOptions load;
  load.most_in_flight = 1;
  const LoadResult result = rig.play(work_of(4, "at-once", 1, 4, 4), load);
  ASSERT_EQ(result.sightings.size(), 4u);
  EXPECT_EQ(result.most_in_flight, 1u);
  for (const Sighting& sighting : result.sightings) EXPECT_EQ(sighting.record.scheduled_ns, 0);
  // The last waited for three others of at least 8 ms each.
  EXPECT_GE(result.sightings[3].record.lateness_ns(), 24'000'000);
  EXPECT_GE(result.sightings[3].record.ttft_ns(), 29'000'000);
}

TEST(Wire, AClosedLoopKeepsItsStreamsAndReusesConnections) {
  Rig rig(quick());
  const LoadResult result = rig.play(work_of(30, "closed:5", 1, 4, 4));
  EXPECT_EQ(statuses(result)[Status::kCompleted], 30);
  EXPECT_EQ(result.most_in_flight, 5u);
  EXPECT_LE(result.connections.opened, 5);
  EXPECT_EQ(result.connections.opened + result.connections.reused, 30);
}

TEST(Wire, SeatsMakeOthersWaitAndTheServersClockSaysSo) {
  mock::MockOptions options = quick();
  options.seats = 1;
  Rig rig(options);
  BenchRun run = analyse(rig.play(work_of(12, "at-once", 1, 4, 4)), {});
  EXPECT_EQ(run.summary.all.completed, 12u);
  // The eleventh waited for ten others.
  EXPECT_GE(run.summary.all.queue.largest(), 10 * 8e6);
  EXPECT_EQ(run.quality.server_ttft.count(), 12u);
  EXPECT_GE(run.quality.server_ttft.largest(), 11 * 8e6);
}

TEST(Wire, AProxyThatBuffersIsFlagged) {
  mock::MockOptions options = quick();
  options.itl_ns = 3'000'000;
  options.hold_chunks = 8;
  Rig rig(options);
  const BenchRun run = analyse(rig.play(work_of(4, "closed:1", 1, 4, 32)), {});
  EXPECT_THAT(run.notes, testing::Contains(testing::Field(&Note::code, "bunched")));
}

TEST(Wire, CountsAreCheckedAgainstATokenizer) {
  mock::MockOptions options = quick();
  options.usage_excess = 3;
  Rig rig(options);
  LoadOptions load;
  load.keep_text = true;
  AnalysisOptions analysis;
  analysis.count_tokens = [](const std::string& text) {
    return std::optional(static_cast<std::int32_t>(std::ranges::count(text, ' ')));
  };
  const BenchRun run = analyse(rig.play(work_of(3, "closed:1", 1, 4, 5), load), analysis);
  EXPECT_EQ(run.quality.checked, 3u);
  EXPECT_EQ(run.quality.miscounted, 3u);
  EXPECT_THAT(run.notes, testing::Contains(testing::Field(&Note::code, "miscounted")));
}

TEST(Wire, TenantsAndClassesAreToldToTheServerAndApart) {
  mock::MockOptions options = quick();
  options.api_key = "k-a";
  Rig rig(options);
  workload::Description work = work_of(40, "closed:4", 1, 4, 4);
  work.classes.push_back(work.classes.front());
  work.classes[0].name = "chat";
  work.classes[1].name = "batch";
  work.tenants = {{"a", 1}, {"b", 1}};
  LoadOptions load;
  load.tenant_keys = {{"a", "k-a"}, {"b", "k-b"}};
  const BenchRun run = analyse(rig.play(work, load), {});
  EXPECT_EQ(run.summary.classes.size(), 2u);
  // Only a's key is good.
  EXPECT_EQ(run.summary.tenants.at("a").failed, 0u);
  EXPECT_EQ(run.summary.tenants.at("b").completed, 0u);
  EXPECT_GT(run.summary.tenants.at("b").failed, 0u);
}

TEST(Wire, AStoppedRunKeepsWhatItSaw) {
  mock::MockOptions options = quick();
  options.faults = {{mock::FaultKind::kStall, 1, 1, 0}};
  Rig rig(options);
  auto source = std::move(*workload::Source::create(work_of(5, "at-once", 1, 4, 4)));
  const PromptMaker prompts(WordScale{});
  Load load(rig.context(), rig.caller(), source, prompts, {});
  const LoadResult result = load.run([&](const Progress&) { load.request_stop(); });
  EXPECT_TRUE(result.stopped);
  ASSERT_EQ(result.sightings.size(), 5u);
  for (const Sighting& sighting : result.sightings) {
    EXPECT_EQ(sighting.record.status, Status::kCancelled);
    EXPECT_EQ(sighting.record.output_tokens, 1);
  }
}

// A run that ends while its own timer has fired, but not been heard, used to leave a call into nowhere.
TEST(Wire, NothingOfARunIsLeftInTheContext) {
  Rig rig(quick());
  auto source = std::move(*workload::Source::create(work_of(1, "at-once", 1, 4, 4)));
  const PromptMaker prompts(WordScale{});
  auto load = std::make_unique<Load>(rig.context(), rig.caller(), source, prompts, LoadOptions{});
  boost::asio::steady_timer nap(rig.context(), std::chrono::milliseconds(26));
  nap.async_wait([](boost::system::error_code) { std::this_thread::sleep_for(std::chrono::milliseconds(300)); });
  EXPECT_EQ(load->run().sightings.size(), 1u);
  load.reset();
  rig.context().restart();
  rig.context().poll();
}

TEST(Wire, ThousandsOfStreamsFromOneProcess) {
  mock::MockOptions options;
  options.ttft_ns = 300'000'000;
  options.itl_ns = 20'000'000;
  Rig rig(options);
  const LoadResult result = rig.play(work_of(1000, "at-once", 1, 4, 10));
  EXPECT_EQ(result.sightings.size(), 1000u);
  EXPECT_EQ(statuses(result)[Status::kCompleted], 1000);
  EXPECT_GT(result.most_in_flight, 500u);
}

TEST(Prompts, TheServerIsAskedHowManyTokensAWordIs) {
  Rig rig(quick());
  RequestBody body;
  body.model = "mock";
  body.route = api::Route::kChat;
  auto scale = ask_word_scale(rig.context(), rig.caller(), body);
  ASSERT_TRUE(scale) << scale.error().message;
  EXPECT_DOUBLE_EQ(scale->slope, 1);
  EXPECT_DOUBLE_EQ(scale->overhead, 1);
  EXPECT_EQ(scale->source, "tokenize");
}

}  // namespace
}  // namespace paternoster::bench
