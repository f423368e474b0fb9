#include "api/request.h"

#include <gtest/gtest.h>

namespace paternoster::api {
namespace {

ApiError refusal(const ApiResult<Ask>& ask) { return ask ? ApiError{} : ask.error(); }

TEST(ChatRequest, IsReadWithAllItsFields) {
  const auto ask = parse_chat(R"({"model":"m","messages":[
      {"role":"developer","content":"Be kind."},
      {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"name":"bob"},
      {"role":"assistant","content":null,"tool_calls":[{"id":"1"}]}],
      "max_tokens":9,"max_completion_tokens":5,"n":3,"seed":-1,"temperature":0.5,"top_k":-1,
      "stop":["x","yy"],"logit_bias":{"7":-100},"stream":true,
      "stream_options":{"include_usage":true},"logprobs":true,"top_logprobs":2,
      "chat_template_kwargs":{"enable_thinking":false}})");
  ASSERT_TRUE(ask) << ask.error().message;
  ASSERT_EQ(ask->generations.size(), 1u);
  const Generation& generation = ask->generations[0];
  const auto& prompt = std::get<ChatPrompt>(generation.prompt);
  EXPECT_EQ(prompt.messages[0].role, "system");
  EXPECT_EQ(prompt.messages[1].content, "ab");
  EXPECT_EQ(prompt.messages[1].extra_json, R"({"name":"bob"})");
  EXPECT_EQ(prompt.messages[2].extra_json, R"({"tool_calls":[{"id":"1"}]})");
  EXPECT_EQ(prompt.template_json, R"({"enable_thinking":false})");
  EXPECT_EQ(generation.max_tokens, 5);
  EXPECT_EQ(generation.choices, 3);
  EXPECT_EQ(generation.sampling.seed, ~std::uint64_t{0});
  EXPECT_EQ(generation.sampling.top_k, 0);
  EXPECT_EQ(generation.stop, (std::vector<std::string>{"x", "yy"}));
  EXPECT_EQ(generation.top_logprobs, 2);
  EXPECT_TRUE(ask->stream && ask->include_usage && !ask->continuous_usage);
}

TEST(ChatRequest, NamesTheFieldThatIsWrong) {
  const auto chat = [](const std::string& more) {
    return refusal(parse_chat(R"({"messages":[{"role":"user","content":"x"}],)" + more + "}"));
  };
  EXPECT_EQ(chat(R"("temperature":3)").param, "temperature");
  EXPECT_EQ(chat(R"("stream":true,"stream_options":{"include_usage":1})").param,
            "stream_options.include_usage");
  EXPECT_EQ(chat(R"("tools":[{}])").code, "unsupported_parameter");
  EXPECT_EQ(chat(R"("min_tokens":5,"max_tokens":4)").param, "min_tokens");
  EXPECT_EQ(refusal(parse_chat(R"({"messages":[{"role":"king","content":"x"}]})")).param,
            "messages[0].role");
}

TEST(CompletionRequest, TakesEveryFormOfPrompt) {
  EXPECT_EQ(std::get<TextPrompt>(parse_completion(R"({"prompt":"a"})")->generations[0].prompt).text, "a");
  const auto tokens = parse_completion(R"({"prompt":[1,2.0]})");
  EXPECT_EQ(std::get<TokenPrompt>(tokens->generations[0].prompt).tokens, (std::vector<TokenId>{1, 2}));
  EXPECT_EQ(parse_completion(R"({"prompt":["a","b"]})")->generations.size(), 2u);
  EXPECT_EQ(parse_completion(R"({"prompt":[[1],[2,3]]})")->generations.size(), 2u);
  EXPECT_EQ(parse_completion(R"({"prompt":"a"})")->generations[0].max_tokens, kDefaultTextTokens);
  for (const char* bad : {"[]", "[[]]", "[1,\"a\"]", "{}", "null", "[-1]", "[2147483648]"}) {
    EXPECT_EQ(refusal(parse_completion(std::string(R"({"prompt":)") + bad + "}")).param, "prompt") << bad;
  }
}

TEST(CompletionRequest, AllowsNoTokensOnlyWithEcho) {
  EXPECT_TRUE(parse_completion(R"({"prompt":"a","max_tokens":0,"echo":true})")->prompt_only);
  EXPECT_EQ(refusal(parse_completion(R"({"prompt":"a","max_tokens":0})")).param, "max_tokens");
}

TEST(CompletionRequest, CountsUnknownFieldsAndLeavesThem) {
  EXPECT_EQ(parse_completion(R"({"prompt":"a","x":1,"y":2,"user":"u"})")->unknown_fields, 2u);
}

TEST(RequestBody, RefusesWhatIsNotJson) {
  for (const std::string_view bad : {"", "{", "[1]", "{\"a\":\"\xff\"}", "{\"a\":\"\\ud800\"}", "{}x"}) {
    EXPECT_EQ(refusal(parse_completion(bad)).code, "invalid_json") << bad;
  }
  EXPECT_EQ(refusal(parse_completion(std::string(1 << 20, '['))).code, "invalid_json");
}

}  // namespace
}  // namespace paternoster::api
