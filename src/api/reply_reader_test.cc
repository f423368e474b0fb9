#include "api/reply_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/stream_reply.h"

namespace paternoster::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ReplyReader, ReadsWhatStreamReplyWrites) {
  for (const Route route : {Route::kChat, Route::kText}) {
    Ask ask;
    ask.route = route;
    ask.include_usage = ask.continuous_usage = ask.return_token_ids = true;
    ask.generations.resize(1);
    StreamReply reply(ask, {route, "id", 1, "m"});
    std::string out;
    reply.take(0, Accepted{{}, 3, {7, 8, 9}});
    reply.take(0, Delta{{}, 0, false, "a \"b\"", {4, 5}, {}}, out);
    const std::size_t last = out.rfind("data: ", out.size() - 3);
    const auto piece = read_reply(std::string_view(out).substr(last + 6));
    ASSERT_TRUE(piece) << piece.error().message;
    EXPECT_EQ(piece->text, "a \"b\"");
    EXPECT_THAT(*piece->token_ids, ElementsAre(4, 5));
    EXPECT_EQ(piece->usage->completion_tokens, 2);
    EXPECT_TRUE(piece->carries);
    out.clear();
    reply.take(Done{{}, {3, 2, 2}, {1'000'000, 2'000'000, 3'000'000}});
    reply.end(out);
    const auto end = read_reply(std::string_view(out).substr(6, out.find("\n\n") - 6));
    ASSERT_TRUE(end);
    EXPECT_FALSE(end->carries);
    EXPECT_EQ(end->choice, -1);
    EXPECT_EQ(end->usage->cached_tokens, 2);
    EXPECT_EQ(end->timings->first_token_ns, 3'000'000);
    EXPECT_EQ(end->timings->decode_ns, 3'000'000);
  }
}

TEST(ReplyReader, ReadsTheTimingsOfOtherServers) {
  const auto llama = read_reply(R"({"choices":[],"timings":{"prompt_n":9,"prompt_ms":12.5,"predicted_ms":40}})");
  EXPECT_EQ(llama->timings->prefill_ns, 12'500'000);
  EXPECT_EQ(llama->timings->first_token_ns, -1);
  EXPECT_EQ(llama->timings->decode_ns, 40'000'000);
  const auto vllm = read_reply(R"({"metrics":{"time_to_first_token_ms":30,"queue_time_ms":1e0}})");
  EXPECT_EQ(vllm->timings->first_token_ns, 30'000'000);
  EXPECT_EQ(vllm->timings->queue_ns, 1'000'000);
}

TEST(ReplyReader, AnAnswerIsTextReasoningOrAToolCall) {
  EXPECT_FALSE(read_reply(R"({"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})")->carries);
  EXPECT_EQ(read_reply(R"({"choices":[{"delta":{"content":null,"reasoning_content":"hm"}}]})")->text, "hm");
  EXPECT_TRUE(read_reply(R"({"choices":[{"delta":{"tool_calls":[{"index":0}]}}]})")->carries);
  EXPECT_EQ(read_reply(R"({"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]})")->finish_reason, "stop");
}

TEST(ReplyReader, ErrorsAndNonsenseAreToldApart) {
  const auto error = read_reply(R"({"error":{"message":"out of\nmemory","type":"x"}})");
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().status, 200);
  EXPECT_EQ(error.error().message, "out of memory");
  for (const char* nonsense : {"", "{", "[]", "12", "{\"choices\":[{]}", "\xff\xfe"}) {
    const auto fault = read_reply(nonsense);
    ASSERT_FALSE(fault) << nonsense;
    EXPECT_EQ(fault.error().status, 502);
  }
  // Odd, but JSON: nothing is told.
  EXPECT_FALSE(read_reply(R"({"choices":{"a":1},"usage":[],"timings":7,"error":null})")->usage);
  EXPECT_EQ(read_reply(R"({"usage":{"completion_tokens":-4,"prompt_tokens":1e300}})")->usage->completion_tokens, 0);
}

TEST(ReplyReader, FindsTheMessageOfAnError) {
  EXPECT_EQ(error_message_of(R"({"error":"Unauthorized"})"), "Unauthorized");
  EXPECT_EQ(error_message_of(R"({"object":"error","message":"too long"})"), "too long");
  EXPECT_EQ(error_message_of(R"({"detail":"Not Found"})"), "Not Found");
  EXPECT_EQ(error_message_of("<html>502 Bad Gateway</html>"), "<html>502 Bad Gateway</html>");
  EXPECT_EQ(error_message_of(std::string(5000, 'x')).size(), 300u);
}

}  // namespace
}  // namespace paternoster::api
