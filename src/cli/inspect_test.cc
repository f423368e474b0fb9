#include "cli/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>

#include "cli/commands.h"
#include "model/model_path.h"

namespace paternoster::cli {
namespace {

using testing::HasSubstr;

model::Model corpus(const std::string& name) {
  auto model = model::load_model(std::filesystem::path(PATERNOSTER_SOURCE_DIR) /
                                 "tests/corpus/gguf" / name);
  EXPECT_TRUE(model.has_value()) << model.error().message;
  return std::move(*model);
}

TEST(Inspect, SaysWhatEachContextLengthNeeds) {
  const auto path = model::resolve_model("smollm2");
  if (!path) GTEST_SKIP() << path.error().message;
  const auto model = model::load_model(*path);
  ASSERT_TRUE(model.has_value());
  const Inspection inspection = inspect_model(*model);
  EXPECT_EQ(inspection.parameters, 134515008u);
  EXPECT_EQ(inspection.kv_bytes_per_token, 23040u);
  ASSERT_EQ(inspection.contexts.size(), 4u);
  EXPECT_EQ(inspection.contexts.back().tokens, 8192u);
  EXPECT_EQ(inspection.contexts.back().kv_bytes, 8192u * 23040u);
  EXPECT_EQ(inspection.contexts.back().total_bytes, 8192u * 23040u + inspection.tensor_bytes);
  EXPECT_EQ(inspection.types.front().type, "Q4_1");
  EXPECT_THAT(describe(*model, inspection), HasSubstr("134,515,008"));
}

TEST(Inspect, AShortContextIsTheOnlyRow) {
  const model::Model model = corpus("llama-q4_1.gguf");
  const Inspection inspection = inspect_model(model);
  ASSERT_EQ(inspection.contexts.size(), 1u);
  EXPECT_EQ(inspection.contexts[0].tokens, 64u);
}

TEST(Inspect, JsonSaysTheSame) {
  const model::Model model = corpus("llama-factors-linear.gguf");
  const Inspection inspection = inspect_model(model);
  const auto object = boost::json::parse(describe_json(model, inspection)).as_object();
  EXPECT_EQ(object.at("architecture"), "llama");
  EXPECT_EQ(object.at("parameters").to_number<std::uint64_t>(), inspection.parameters);
  EXPECT_EQ(object.at("config").at("rope").at("scaling"), "linear");
  EXPECT_EQ(object.at("config").at("rope").at("pair_factors"), true);
  EXPECT_EQ(object.at("tokenizer").at("chat_template"), true);
}

TEST(Inspect, ABadFileIsExitCodeOneAndABadCallTwo) {
  char name[] = "paternoster inspect", file[] = "/dev/null", flag[] = "--nonsense";
  char* bad_file[] = {name, file, nullptr};
  EXPECT_EQ(inspect(2, bad_file), 1);
  char* bad_call[] = {name, flag, nullptr};
  EXPECT_EQ(inspect(2, bad_call), 2);
}

}  // namespace
}  // namespace paternoster::cli
