// What is made of a response, with times that the test chooses.
#include "bench/stream_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/analysis.h"

namespace paternoster::bench {
namespace {

using measure::Status;
using testing::HasSubstr;

const Clock::time_point kEpoch{std::chrono::seconds(1000)};

Clock::time_point at(std::int64_t ms) { return kEpoch + std::chrono::milliseconds(ms); }

class Watched {
 public:
  explicit Watched(int status = 200, bool stream = true) {
    StreamWatch::Options options;
    options.epoch = kEpoch;
    options.expected_input_tokens = 77;
    options.keep_text = true;
    watch_ = std::make_unique<StreamWatch>(measure::RequestRecord{}, options, [this](StreamWatch&) { ++ends_; });
    watch_->on_sending(at(1));
    client::ResponseHead head;
    head.status = status;
    head.event_stream = stream;
    watch_->on_head(head, at(2));
  }
  Watched& bytes(std::int64_t ms, std::string_view text) {
    watch_->on_body(text, at(ms));
    return *this;
  }
  Watched& token(std::int64_t ms, const char* text = "a") {
    return bytes(ms, std::string("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"") + text + "\"}}]}\n\n");
  }
  const Sighting& end(client::CallEnd how = client::CallEnd::kDone, const std::string& why = "") {
    watch_->on_end(how, why, at(1000));
    EXPECT_EQ(ends_, 1);
    return watch_->sighting();
  }
  Watched& finish(std::int64_t ms, int tokens) {
    bytes(ms, R"(data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]})" "\n\n");
    if (tokens > 0) {
      bytes(ms, R"(data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":)" + std::to_string(tokens) + "}}\n\n");
    }
    return bytes(ms, "data: [DONE]\n\n");
  }

 private:
  std::unique_ptr<StreamWatch> watch_;
  int ends_ = 0;
};

TEST(StreamWatch, TakesTheTimeAtWhichTheBytesCame) {
  const Sighting seen = Watched().token(10).token(30).token(35).finish(36, 3).end();
  EXPECT_EQ(seen.record.status, Status::kCompleted);
  EXPECT_EQ(seen.record.sent_ns, 1'000'000);
  EXPECT_EQ(seen.record.first_token_ns, 10'000'000);
  EXPECT_EQ(seen.record.last_token_ns, 35'000'000);
  EXPECT_EQ(seen.record.ended_ns, 1000'000'000);
  EXPECT_EQ(seen.record.largest_gap_ns, 20'000'000);
  EXPECT_EQ(seen.record.output_tokens, 3);
  EXPECT_EQ(seen.record.input_tokens, 5);
  EXPECT_DOUBLE_EQ(seen.record.tpot_ns(), 12.5e6);
  EXPECT_EQ(seen.text, "aaa");
  EXPECT_EQ(seen.bunched, 0);
}

TEST(StreamWatch, AnEventCountsWhenItsLastByteIsThere) {
  Watched watched;
  watched.bytes(10, R"(data: {"choices":[{"delta":{"cont)").bytes(20, R"(ent":"a"}}]})").bytes(30, "\n\n");
  EXPECT_EQ(watched.finish(40, 1).end().record.first_token_ns, 30'000'000);
}

TEST(StreamWatch, ARoleWithoutTextIsNoToken) {
  Watched watched;
  watched.bytes(5, R"(data: {"choices":[{"delta":{"role":"assistant","content":""}}]})" "\n\n");
  EXPECT_EQ(watched.token(10).finish(11, 1).end().record.first_token_ns, 10'000'000);
}

TEST(StreamWatch, TokensAreSpreadWhereChunksDoNotTell) {
  const Sighting seen = Watched().token(10).token(20).token(30).finish(31, 8).end();
  EXPECT_TRUE(seen.spread);
  EXPECT_EQ(seen.record.output_tokens, 8);
  EXPECT_EQ(seen.record.arrivals[0].tokens + seen.record.arrivals[1].tokens + seen.record.arrivals[2].tokens, 8);
  EXPECT_EQ(seen.record.arrivals[0].tokens, 2);
}

TEST(StreamWatch, WithoutUsageAChunkIsATokenAndThePromptIsWhatWasMeant) {
  const Sighting seen = Watched().token(10).token(20).finish(21, 0).end();
  EXPECT_FALSE(seen.usage_told);
  EXPECT_EQ(seen.record.output_tokens, 2);
  EXPECT_EQ(seen.record.input_tokens, 77);
}

TEST(StreamWatch, ChunksRightBehindOneAnotherAreBunched) {
  Watched watched;
  for (std::int64_t group = 1; group <= 4; ++group) {
    for (int i = 0; i < 5; ++i) watched.token(group * 50);
  }
  EXPECT_EQ(watched.finish(201, 20).end().bunched, 16);
}

TEST(StreamWatch, AnswersThatBreakOffAreFailures) {
  EXPECT_EQ(Watched().token(10).end(client::CallEnd::kDisconnected, "cut").record.error, "cut");
  EXPECT_EQ(Watched().end(client::CallEnd::kTimeout, "late").record.status, Status::kTimedOut);
  EXPECT_THAT(Watched().token(10).end().record.error, HasSubstr("without finish_reason"));
  EXPECT_THAT(Watched().finish(10, 0).end().record.error, HasSubstr("empty"));
  EXPECT_THAT(Watched().bytes(1, "data: {oops\n\n").finish(10, 1).end().record.error, HasSubstr("not a JSON"));
  EXPECT_THAT(Watched().token(9).bytes(10, "data: {\"error\":{\"message\":\"no room\"}}\n\n").end().record.error,
              HasSubstr("no room"));
}

TEST(StreamWatch, RefusalsAndFaultsAreToldApart) {
  for (const auto& [status, body, expected] :
       {std::tuple{503, "{\"error\":{\"message\":\"full\"}}", Status::kRefused},
        {429, "slow down", Status::kRefused},
        {400, "{\"error\":{\"message\":\"long\",\"code\":\"context_length_exceeded\"}}", Status::kRefused},
        {400, "{\"error\":{\"message\":\"bad\"}}", Status::kFailed},
        {408, "", Status::kTimedOut},
        {500, "", Status::kFailed}}) {
    Watched watched(status, false);
    const Sighting seen = watched.bytes(5, body).end();
    EXPECT_EQ(seen.record.status, expected) << status;
    EXPECT_THAT(seen.record.error, HasSubstr("status " + std::to_string(status)));
  }
}

TEST(StreamWatch, AnAnswerInOnePieceIsTakenAndMarked) {
  Watched watched(200, false);
  watched.bytes(50, R"({"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"completion_tokens":4}})");
  const Sighting seen = watched.end();
  EXPECT_TRUE(seen.record.completed());
  EXPECT_FALSE(seen.streamed);
  EXPECT_EQ(seen.record.output_tokens, 4);
  EXPECT_EQ(seen.record.first_token_ns, seen.record.ended_ns);
}

TEST(StreamWatch, AnEndOfTextAtOnceIsAnAnswer) {
  const Sighting seen = Watched().finish(10, 1).end();
  EXPECT_TRUE(seen.record.completed()) << seen.record.error;
  EXPECT_EQ(seen.record.first_token_ns, seen.record.ended_ns);
}

LoadResult load_of(int requests, double growth) {
  LoadResult load;
  for (int i = 0; i < requests; ++i) {
    Sighting one;
    one.usage_told = true;
    one.record.id = static_cast<std::uint64_t>(i);
    one.record.scheduled_ns = i * 100'000'000ll;
    one.record.sent_ns = one.record.scheduled_ns + 20'000'000;
    one.record.first_token_ns = one.record.sent_ns + static_cast<std::int64_t>(1e8 * (1 + growth * i));
    one.record.last_token_ns = one.record.ended_ns = one.record.first_token_ns + 90'000'000;
    one.record.output_tokens = 10;
    load.sightings.push_back(one);
    load.duration_ns = std::max(load.duration_ns, one.record.ended_ns);
  }
  return load;
}

TEST(Analysis, NotesWhatWouldMislead) {
  const auto has = [](const BenchRun& run, const char* code) {
    return std::ranges::any_of(run.notes, [&](const Note& note) { return note.code == code; });
  };
  BenchRun steady = analyse(load_of(60, 0), {});
  EXPECT_TRUE(has(steady, "late"));  // 20 ms behind, of 120
  EXPECT_FALSE(has(steady, "overload"));
  EXPECT_TRUE(steady.keeps_up());
  EXPECT_EQ(steady.intervals.count("median_ttft_ms"), 1u);
  BenchRun growing = analyse(load_of(60, 0.1), {});
  EXPECT_TRUE(has(growing, "overload"));
  EXPECT_FALSE(growing.keeps_up());
  LoadResult lagging = load_of(10, 0);
  lagging.loop_lag.add(30e6, 100);
  EXPECT_TRUE(has(analyse(std::move(lagging), {}), "lag"));
}

TEST(Analysis, TheServersClockIsSetBesideOurs) {
  LoadResult load = load_of(10, 0);
  for (Sighting& one : load.sightings) {
    one.timings.queue_ns = 10'000'000;
    one.timings.first_token_ns = 60'000'000;
    one.timings.decode_ns = 45'000'000;
  }
  const BenchRun run = analyse(std::move(load), {});
  EXPECT_DOUBLE_EQ(run.quality.server_ttft.median(), 60e6);
  EXPECT_DOUBLE_EQ(run.quality.outside.median(), 40e6);
  EXPECT_DOUBLE_EQ(run.quality.server_tpot.median(), 5e6);
  EXPECT_DOUBLE_EQ(run.summary.all.queue.median(), 30e6);  // from scheduled to its seat
}

}  // namespace
}  // namespace paternoster::bench
