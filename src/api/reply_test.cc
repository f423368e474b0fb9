#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "api/stream_reply.h"
#include "api/whole_reply.h"
#include "base/json_writer.h"

namespace paternoster::api {
namespace {

namespace json = boost::json;

constexpr CallId kCall{1};

ReplyHeading heading(Route route) { return {route, "id", 5, "m"}; }

Ask ask_for(Route route, std::int32_t choices = 1) {
  Ask ask;
  ask.route = route;
  ask.choices = choices;
  ask.generations.resize(1);
  return ask;
}

Delta delta(std::string text, std::vector<TokenId> tokens = {1}) {
  return {kCall, 0, false, std::move(text), std::move(tokens), {}};
}

TEST(StreamReply, SaysRoleTextEndUsageAndDone) {
  Ask ask = ask_for(Route::kChat);
  ask.include_usage = true;
  StreamReply reply(ask, heading(Route::kChat));
  std::string out;
  reply.take(0, Accepted{kCall, 3, {}});
  reply.take(0, delta("Hi"), out);
  reply.take(0, Finished{kCall, 0, FinishReason::kStop, std::string("END")}, out);
  reply.take(Done{kCall, {3, 1, 1}, {}});
  reply.end(out);
  const std::string start = R"(data: {"id":"id","object":"chat.completion.chunk","created":5,"model":"m","choices":[)";
  EXPECT_EQ(out,
            start + R"({"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":null})" +
                "\n\n" + start +
                R"({"index":0,"delta":{"content":"Hi"},"logprobs":null,"finish_reason":null}],"usage":null})" + "\n\n" +
                start +
                R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"stop","stop_reason":"END"}],"usage":null})" +
                "\n\n" + start +
                R"(],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4,"prompt_tokens_details":{"cached_tokens":1}},"timings":{"queue_position":0,"queue_ms":0.0,"prefill_ms":0.0,"decode_ms":0.0,"preemptions":0,"recomputed_tokens":0,"swapped_bytes":0}})" +
                "\n\ndata: [DONE]\n\n");
}

TEST(StreamReply, IsSilentWhileTextIsHeldBack) {
  StreamReply reply(ask_for(Route::kText), heading(Route::kText));
  std::string out;
  reply.take(0, Accepted{kCall, 3, {}});
  reply.take(0, delta(""), out);
  EXPECT_EQ(out, "");
}

TEST(StreamReply, EndsAnErrorWithDone) {
  std::string out;
  StreamReply::fail(server_error("oh"), out);
  EXPECT_EQ(out, "data: {\"error\":{\"message\":\"oh\",\"type\":\"server_error\",\"param\":null,\"code\":null}}"
                 "\n\ndata: [DONE]\n\n");
}

TEST(WholeReply, PutsChoicesInOrder) {
  Ask ask = ask_for(Route::kText, 2);
  ask.logprobs = true;
  WholeReply reply(ask, heading(Route::kText));
  reply.take(0, Accepted{kCall, 2, {}});
  for (std::int32_t choice : {1, 0}) {
    Delta part = delta("é" + std::to_string(choice));
    part.choice = choice;
    part.logprobs = {{{5, "é", -0.5f}, {{5, "é", -0.5f}, {6, "\xc3", -1.0f}}}};
    reply.take(0, std::move(part));
    reply.take(0, Finished{kCall, choice, FinishReason::kLength, {}});
  }
  reply.take(Done{kCall, {2, 0, 2}, {}});
  const json::value body = json::parse(reply.write());
  EXPECT_EQ(body.at("choices").at(0).at("text"), "é0");
  EXPECT_EQ(body.at("choices").at(1).at("text"), "é1");
  EXPECT_EQ(body.at("choices").at(0).at("logprobs").at("top_logprobs").at(0).at("bytes:\\xc3"), -1.0);
  EXPECT_EQ(body.at("usage").at("total_tokens"), 4);
}

TEST(JsonWriter, AlwaysWritesValidJson) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  bytes += "\xF0\x9F\x8E\x89 \xED\xA0\x80 \xE2\x82";
  std::string out;
  append_string(out, bytes);
  const json::value value = json::parse(out);
  EXPECT_TRUE(is_utf8({value.get_string().data(), value.get_string().size()}));
  EXPECT_NE(value.get_string().find("\xF0\x9F\x8E\x89"), json::string::npos);
}

TEST(JsonWriter, WritesNumbersThatReadBackEqual) {
  for (const double number : {0.1, -1e300, 5.0, 1e-7, 123456789.125}) {
    std::string out;
    append_number(out, number);
    EXPECT_EQ(std::stod(out), number);
  }
  std::string out;
  append_number(out, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(out, "-9999.0");
}

TEST(ContextError, SaysWhatClientsLookFor) {
  const ApiError error = context_length_exceeded(5000, 10, 4096);
  EXPECT_THAT(error.message, testing::HasSubstr("This model's maximum context length is 4096 tokens"));
  EXPECT_THAT(error.message, testing::HasSubstr("exceeds the available context size"));
  EXPECT_EQ(error.code, "context_length_exceeded");
}

}  // namespace
}  // namespace paternoster::api
