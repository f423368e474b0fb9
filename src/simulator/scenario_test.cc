// The adversarial scenarios of tests/scenarios: each file is a test, and its bounds must hold under the choices
// that it names and break under those that it names for that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "simulator/testing/bounds.h"

namespace paternoster::simulator {
namespace {

using testing::find_broken;
using testing::Scenario;
using ::testing::HasSubstr;

constexpr const char* kFolder = PATERNOSTER_SOURCE_DIR "/tests/scenarios/";

std::vector<std::string> files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

boost::json::value json_of(const std::string& name) { return testing::read_json(kFolder + name + ".json"); }

class Scenarios : public ::testing::TestWithParam<std::string> {};

TEST_P(Scenarios, KeepTheirBounds) {
  const Scenario scenario = testing::read_scenario(json_of(GetParam()));
  for (const std::string& choices : scenario.holds) {
    EXPECT_EQ(find_broken(scenario, choices), "") << choices << ": " << scenario.claim;
  }
}

TEST_P(Scenarios, BreakThemUnderOtherChoices) {
  const Scenario scenario = testing::read_scenario(json_of(GetParam()));
  EXPECT_TRUE(scenario.bounds.empty() || !scenario.fails.empty()) << "nothing shows that its bounds can be broken";
  for (const std::string& choices : scenario.fails) {
    const std::string broken = find_broken(scenario, choices);
    EXPECT_NE(broken, "") << choices << " keeps every bound: " << scenario.claim;
    std::cout << choices << ": " << broken << "\n";
  }
}

TEST_P(Scenarios, AreNotUpsetByACancelAtAnyMoment) {
  const Scenario scenario = testing::read_scenario(json_of(GetParam()));
  if (scenario.cancelled.empty()) return;
  std::set<std::string> met;
  for (const std::string& choices : scenario.holds) {
    EXPECT_EQ(find_broken_by_cancelling(scenario, choices, met), "") << choices;
  }
  for (const std::string& state : scenario.cancelled) EXPECT_TRUE(met.contains(state)) << state << " was never met";
}

INSTANTIATE_TEST_SUITE_P(Files, Scenarios, ::testing::ValuesIn(files()),
                         [](const auto& file) { return file.param; });

// The runner itself: what is broken on purpose must be found.
TEST(ScenarioRunner, FindsABoundThatIsWrong) {
  boost::json::value json = json_of("prompt_beside_a_stream");
  auto& bound = json.as_object()["bounds"].as_array()[0].as_object();
  ASSERT_EQ(bound["figure"].as_string(), "gap_ms");
  bound["most"] = {{{"solo", 1}}};
  const Scenario scenario = testing::read_scenario(json);
  EXPECT_THAT(find_broken(scenario, scenario.holds.front()), HasSubstr("gap_ms of stream is "));
}

TEST(ScenarioRunner, FindsWhoDoesNotEndWithWhatItWasToSay) {
  Scenario scenario = testing::read_scenario(json_of("prompt_beside_a_stream"));
  scenario.bounds.clear();
  scenario.riders[0].prompt = *workload::parse_lengths("fixed:4000");  // the pool has 2,048
  EXPECT_THAT(find_broken(scenario, scenario.holds.front()), HasSubstr("ended with 0 of "));
}

TEST(ScenarioRunner, RefusesWhatItDoesNotKnow) {
  for (const char* path : {"/riders/0", "/bounds/0", "/limits", "/step", "/bounds/0/most/0", ""}) {
    boost::json::value json = json_of("prompt_beside_a_stream");
    json.at_pointer(path).as_object()["mots"] = 1;
    EXPECT_THROW(testing::read_scenario(json), std::runtime_error) << path;
  }
  Scenario scenario = testing::read_scenario(json_of("prompt_beside_a_stream"));
  scenario.bounds[0].figure = "gpa_ms";
  EXPECT_THROW(find_broken(scenario, scenario.holds.front()), std::runtime_error);
}

}  // namespace
}  // namespace paternoster::simulator
