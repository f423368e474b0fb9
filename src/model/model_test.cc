// Whole files: the two real models against what is known of them, and random ones of every
// architecture.
#include "model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "model/model_path.h"

namespace paternoster::model {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Result<Model> load_corpus(const std::string& name) {
  return load_model(fs::path(PATERNOSTER_SOURCE_DIR) / "tests/corpus/gguf" / name);
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (fs::temp_directory_path() / "model_test.XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryDirectory() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(SmolLM2, IsReadAsPublished) {
  const auto path = resolve_model("smollm2");
  if (!path) GTEST_SKIP() << path.error().message;
  const Result<Model> model = load_model(*path);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const ModelConfig& config = model->config;
  EXPECT_EQ(config.architecture, Architecture::kLlama);
  EXPECT_EQ(config.layers, 30u);
  EXPECT_EQ(config.embedding, 576u);
  EXPECT_EQ(config.heads, 9u);
  EXPECT_EQ(config.kv_heads, 3u);
  EXPECT_EQ(config.head_dim_k, 64u);
  EXPECT_EQ(config.feed_forward, 1536u);
  EXPECT_EQ(config.vocabulary, 49152u);
  EXPECT_EQ(config.context_length, 8192u);
  EXPECT_EQ(config.norm_epsilon, 1e-5f);
  EXPECT_EQ(config.rope.base, 100000.0f);
  EXPECT_EQ(config.rope.style, RopeStyle::kInterleaved);
  EXPECT_EQ(config.rope.dimensions, 64u);
  EXPECT_EQ(config.query_scale, 0.125f);
  EXPECT_TRUE(config.tied_output);
  EXPECT_EQ(config.kv_bytes_per_token(2), 23040u);
  EXPECT_EQ(parameter_count(model->file), 134515008u);
  EXPECT_EQ(model->weights.token_embedding.type, TensorType::kQ8_0);
  EXPECT_EQ(model->weights.layers[29].down.type, TensorType::kQ4_1);
  EXPECT_EQ(model->weights.layers[29].down.columns, 1536u);
  EXPECT_EQ(model->tokenizer.pre, "smollm");
  EXPECT_EQ(model->tokenizer.merges.size(), 48900u);
  EXPECT_EQ(model->tokenizer.eos, 2);
  EXPECT_EQ(model->tokenizer.tokens[1], "<|im_start|>");
  EXPECT_THAT(std::string(model->tokenizer.chat_template), HasSubstr("add_generation_prompt"));
}

TEST(Gemma3, IsReadAsPublishedAndCompletedWithWhatTheFileLeavesOut) {
  const auto path = resolve_model("gemma3-270m");
  if (!path) GTEST_SKIP() << path.error().message;
  const Result<Model> model = load_model(*path);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const ModelConfig& config = model->config;
  EXPECT_EQ(config.architecture, Architecture::kGemma3);
  EXPECT_EQ(config.layers, 18u);
  EXPECT_EQ(config.head_dim_k, 256u);
  EXPECT_EQ(config.query_width(), 1024u);
  EXPECT_EQ(config.kv_heads, 1u);
  EXPECT_EQ(config.rope.base, 1e6f);
  EXPECT_EQ(config.rope.local_base, 10000.0f);
  EXPECT_EQ(config.rope.style, RopeStyle::kHalves);
  EXPECT_EQ(config.sliding_window, 512u);
  for (std::uint32_t layer = 0; layer < 18; ++layer) {
    EXPECT_EQ(config.is_sliding(layer), layer % 6 != 5) << layer;
  }
  EXPECT_EQ(config.rope_base(5), 1e6f);
  EXPECT_EQ(config.rope_base(4), 10000.0f);
  EXPECT_EQ(config.embedding_scale, std::sqrt(640.0f));
  EXPECT_EQ(config.query_scale, 0.0625f);
  EXPECT_EQ(config.activation, Activation::kGeluTanh);
  EXPECT_TRUE(config.query_key_norm && config.post_norms && config.tied_output);
  EXPECT_EQ(config.kv_bytes_per_token(2), 18432u);
  EXPECT_EQ(parameter_count(model->file), 268098176u);
  EXPECT_EQ(model->weights.layers[0].value.type, TensorType::kQ8_0);
  EXPECT_EQ(model->weights.layers[2].down.type, TensorType::kQ4_K);
  EXPECT_EQ(model->tokenizer.tokens.size(), 262144u);
  EXPECT_EQ(model->tokenizer.kinds[105], TokenKind::kControl);
  EXPECT_EQ(model->tokenizer.add_space_prefix, false);
  EXPECT_TRUE(model->tokenizer.chat_template.empty());
}

TEST(Llama, HasNoBiasesUnlessTheFileHas) {
  const auto plain = load_corpus("llama-q4_1.gguf");
  ASSERT_TRUE(plain.has_value()) << plain.error().message;
  EXPECT_FALSE(plain->config.query_key_value_bias);
  const auto biased = load_corpus("llama-factors-linear.gguf");
  ASSERT_TRUE(biased.has_value()) << biased.error().message;
  EXPECT_TRUE(biased->config.query_key_value_bias && biased->config.output_bias);
  EXPECT_TRUE(biased->weights.layers[0].query_bias.present());
  EXPECT_TRUE(biased->weights.layers[0].output_bias.present());
}

TEST(Llama, ScalesRopeAsTheFileSays) {
  const auto linear = load_corpus("llama-factors-linear.gguf");
  ASSERT_TRUE(linear.has_value()) << linear.error().message;
  EXPECT_EQ(linear->config.rope.scaling, RopeScaling::kLinear);
  EXPECT_EQ(linear->config.rope.factor, 2.0f);
  EXPECT_EQ(linear->weights.rope_factors.columns, 8u);
  const auto yarn = load_corpus("llama-untied-yarn.gguf");
  ASSERT_TRUE(yarn.has_value()) << yarn.error().message;
  EXPECT_EQ(yarn->config.rope.scaling, RopeScaling::kYarn);
  EXPECT_EQ(yarn->config.rope.factor, 4.0f);
  EXPECT_EQ(yarn->config.rope.original_context_length, 16u);
  EXPECT_EQ(yarn->config.rope.beta_fast, 32.0f);
  EXPECT_FALSE(yarn->config.tied_output);
  EXPECT_NE(yarn->weights.output.name, yarn->weights.token_embedding.name);
}

TEST(Qwen2, HasBiasesAndTurnsHalves) {
  const auto model = load_corpus("qwen2-q5_0.gguf");
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_TRUE(model->config.query_key_value_bias);
  EXPECT_FALSE(model->config.query_key_norm);
  EXPECT_EQ(model->config.rope.style, RopeStyle::kHalves);
  EXPECT_EQ(model->weights.layers[0].key_bias.columns, 16u);
}

TEST(Qwen3, NormsQueriesAndKeysAndTakesHeadWidthFromTheFile) {
  const auto model = load_corpus("qwen3-q5_1.gguf");
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_TRUE(model->config.query_key_norm);
  EXPECT_EQ(model->config.head_dim_k, 32u);
  EXPECT_EQ(model->config.query_width(), 64u);
  EXPECT_EQ(model->weights.layers[0].query_norm.columns, 32u);
}

TEST(RandomGemma3, SlidesFiveLayersOfSix) {
  const auto model = load_corpus("gemma3-f16.gguf");
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_EQ(model->config.sliding_window, 16u);
  EXPECT_TRUE(model->config.is_sliding(4));
  EXPECT_FALSE(model->config.is_sliding(5));
  EXPECT_TRUE(model->config.is_sliding(6));
}

TEST(SplitFiles, AnyPartOpensAll) {
  const auto first = load_corpus("split-00001-of-00003.gguf");
  ASSERT_TRUE(first.has_value()) << first.error().message;
  EXPECT_EQ(first->file.parts(), 3u);
  const auto last = load_corpus("split-00003-of-00003.gguf");
  ASSERT_TRUE(last.has_value()) << last.error().message;
  EXPECT_EQ(last->file.tensors().size(), first->file.tensors().size());
}

TEST(SplitFiles, AMissingOrWrongPartIsNamed) {
  const fs::path corpus = fs::path(PATERNOSTER_SOURCE_DIR) / "tests/corpus/gguf";
  const TemporaryDirectory place;
  const auto part = [&](int number) {
    return place.path() / ("split-0000" + std::to_string(number) + "-of-00003.gguf");
  };
  fs::copy(corpus / "split-00001-of-00003.gguf", part(1));
  fs::copy(corpus / "split-00002-of-00003.gguf", part(2));
  const auto missing = load_model(part(1));
  ASSERT_FALSE(missing.has_value());
  EXPECT_THAT(missing.error().message, HasSubstr("split-00003-of-00003.gguf"));
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  fs::copy(corpus / "split-00002-of-00003.gguf", part(3));
  const auto wrong = load_model(part(1));
  ASSERT_FALSE(wrong.has_value());
  EXPECT_THAT(wrong.error().message, HasSubstr("is not part 3 of 3"));
  fs::copy(part(1), place.path() / "renamed.gguf");
  const auto renamed = load_model(place.path() / "renamed.gguf");
  ASSERT_FALSE(renamed.has_value());
  EXPECT_THAT(renamed.error().message, HasSubstr("its name does not end in -0000N-of-00003.gguf"));
}

TEST(OpeningFiles, WhatIsNoRegularFileIsRefusedAtOnce) {
  const TemporaryDirectory place;
  const auto message = [](const fs::path& path) { return load_model(path).error().message; };
  EXPECT_THAT(message(place.path()), HasSubstr("is a directory"));
  EXPECT_THAT(message(place.path() / "absent"), HasSubstr("No such file"));
  std::ofstream(place.path() / "empty").close();
  EXPECT_THAT(message(place.path() / "empty"), HasSubstr("is empty"));
  ASSERT_EQ(mkfifo((place.path() / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(message(place.path() / "fifo"), HasSubstr("is not a regular file"));
  EXPECT_THAT(message("/dev/zero"), HasSubstr("is not a regular file"));
}

// A sparse file of this size costs nothing; every string of it has length zero.
TEST(OpeningFiles, AHugeFileOfZerosIsRefusedWithoutReadingIt) {
  const TemporaryDirectory place;
  const fs::path path = place.path() / "huge.gguf";
  std::ofstream file(path, std::ios::binary);
  const std::uint64_t counts[] = {0, 1};
  file.write("GGUF\3\0\0\0", 8).write(reinterpret_cast<const char*>(counts), sizeof counts);
  const std::string key("\1\0\0\0\0\0\0\0x\x09\0\0\0\x08\0\0\0\xff\xff\xff\xff\0\0\0\0", 25);
  file.write(key.data(), static_cast<std::streamsize>(key.size()));
  file.close();
  fs::resize_file(path, std::uint64_t{64} << 30);
  const auto model = load_model(path);
  ASSERT_FALSE(model.has_value());
  EXPECT_THAT(model.error().message, HasSubstr("key 'x': array of 4294967295 strings"));
}

TEST(ModelPaths, FollowTheEnvironment) {
  const TemporaryDirectory place;
  setenv("PATERNOSTER_CACHE", place.path().c_str(), 1);
  EXPECT_EQ(*models_directory(), place.path() / "models");
  const auto absent = resolve_model("smollm2");
  ASSERT_FALSE(absent.has_value());
  EXPECT_THAT(absent.error().message, HasSubstr("paternoster pull smollm2"));
  const auto unknown = resolve_model("no-such-model");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(unknown.error().message, HasSubstr("known: smollm2, gemma3-270m"));
  unsetenv("PATERNOSTER_CACHE");
}

}  // namespace
}  // namespace paternoster::model
