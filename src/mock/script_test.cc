#include "mock/script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mock/words.h"

namespace paternoster::mock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

api::Ask ask_for(std::string prompt, std::int32_t tokens, bool stream = true) {
  api::Ask ask;
  ask.route = api::Route::kText;
  ask.stream = stream;
  ask.include_usage = stream;
  ask.generations.resize(1);
  ask.generations[0].prompt = api::TextPrompt{std::move(prompt)};
  ask.generations[0].max_tokens = tokens;
  return ask;
}

MockOptions timing() {
  MockOptions options;
  options.ttft_ns = 1000;
  options.itl_ns = 10;
  options.prompt_token_ns = 100;
  return options;
}

std::vector<std::int64_t> times(const Script& script) {
  std::vector<std::int64_t> all;
  for (const Departure& departure : script.departures) all.push_back(departure.after_seat_ns);
  return all;
}

TEST(MockWords, AnAnswerCountsOnFromThePrompt) {
  EXPECT_THAT(tokens_of(" 7 8\n9  x"), ElementsAre(7, 8, 9, tokens_of("x").front()));
  EXPECT_EQ(next_token(9), 10);
  EXPECT_EQ(next_token(kVocabulary - 1), 0);
  EXPECT_THAT(tokens_of(text_of(41) + text_of(42)), ElementsAre(41, 42));
}

TEST(MockScript, EveryChunkHasItsTime) {
  const Script script = write_script(timing(), ask_for("5 6", 3), {});
  // Three tokens and the last words.
  EXPECT_THAT(times(script), ElementsAre(1200, 1210, 1220, 1220));
  EXPECT_THAT(script.departures[0].bytes, HasSubstr("\" 7\""));
  EXPECT_THAT(script.departures[3].bytes, HasSubstr("\"completion_tokens\":3"));
  EXPECT_EQ(script.prompt_tokens, 2);
}

TEST(MockScript, SeveralTokensAChunkLeaveTogether) {
  MockOptions options = timing();
  options.tokens_per_chunk = 2;
  const Script script = write_script(options, ask_for("5 6", 5), {});
  EXPECT_THAT(times(script), ElementsAre(1200, 1220, 1240, 1240));
  EXPECT_THAT(script.departures[1].bytes, HasSubstr("\" 9 10\""));
  EXPECT_EQ(script.departures[2].tokens, 1);
}

TEST(MockScript, HeldChunksLeaveWithTheLastOfTheirGroup) {
  MockOptions options = timing();
  options.hold_chunks = 2;
  EXPECT_THAT(times(write_script(options, ask_for("5 6", 5), {})), ElementsAre(1210, 1210, 1230, 1230, 1240, 1240));
}

TEST(MockScript, FaultsComeWhenTheyAreDue) {
  MockOptions options = timing();
  options.faults = {{FaultKind::kDisconnect, 3, 2, 0}, {FaultKind::kGarble, 2, 1, 0}, {FaultKind::kError, 5, 2, 0},
                    {FaultKind::kTruncate, 7, 2, 0}, {FaultKind::kStall, 11, 2, 0}};
  const auto script = [&](std::int64_t number) { return write_script(options, ask_for("1", 4), {number, 0, 0}); };
  EXPECT_EQ(script(1).ending, Ending::kWhole);
  EXPECT_EQ(script(3).ending, Ending::kCut);
  EXPECT_EQ(script(3).departures.size(), 2u);
  EXPECT_EQ(script(6).ending, Ending::kCut);  // the first of the list
  EXPECT_THAT(script(2).departures[0].bytes, HasSubstr("{\"index\":\n\n"));
  EXPECT_EQ(script(2).departures.size(), 5u);
  EXPECT_THAT(script(5).departures.back().bytes, HasSubstr("\"error\""));
  EXPECT_THAT(script(7).departures.back().bytes, Not(HasSubstr("[DONE]")));
  EXPECT_EQ(script(11).ending, Ending::kSilent);
}

TEST(MockScript, WhatItTellsCanBeWrongOnPurpose) {
  MockOptions options = timing();
  options.usage_excess = 2;
  EXPECT_THAT(write_script(options, ask_for("1", 4), {}).departures.back().bytes, HasSubstr("\"completion_tokens\":6"));
  options.usage = false;
  EXPECT_THAT(write_script(options, ask_for("1", 4), {}).departures.back().bytes, Not(HasSubstr("usage")));
  options.crlf = options.comments = true;
  EXPECT_THAT(write_script(options, ask_for("1", 1), {}).departures.back().bytes,
              testing::EndsWith(": mock\r\n\r\ndata: [DONE]\r\n\r\n"));
}

TEST(MockScript, StopTokensEndAnAnswer) {
  api::Ask ask = ask_for("5", 9);
  ask.generations[0].stop_token_ids = {7};
  const Script script = write_script(timing(), ask, {});
  EXPECT_EQ(script.departures.size(), 3u);
  EXPECT_THAT(script.departures.back().bytes, HasSubstr("\"finish_reason\":\"stop\""));
}

TEST(MockScript, RefusesWhatItCannotDo) {
  api::Ask two = ask_for("5", 1);
  two.choices = 2;
  EXPECT_TRUE(objection({}, two));
  MockOptions small;
  small.max_len = 4;
  EXPECT_EQ(objection(small, ask_for("1 2 3", 2))->code, "context_length_exceeded");
  EXPECT_FALSE(objection(small, ask_for("1 2 3", 1)));
}

}  // namespace
}  // namespace paternoster::mock
