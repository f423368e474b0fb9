#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/random.h"
#include "cost/fit.h"
#include "cost/profile.h"

namespace paternoster::cost {
namespace {

using testing::HasSubstr;

// Steps of a machine that follows the model, times `noise` about one.
std::vector<TimedStep> steps_of(const StepTerms& terms, double noise) {
  std::vector<TimedStep> steps;
  for (std::uint64_t at = 0; at < 400; ++at) {
    TimedStep step;
    const auto draw = [&](std::uint64_t what, std::uint64_t below) {
      return static_cast<std::int64_t>(random_u64(1, what, at) % below);
    };
    const std::int64_t decodes = draw(1, 33);
    for (std::int64_t one = 0; one < decodes; ++one) step.load.add(draw(2 + static_cast<std::uint64_t>(one), 900), 1);
    if (at % 3 == 0 || decodes == 0) step.load.add(draw(90, 500), 2 + draw(91, 200));
    const double factor = 1 + noise * (static_cast<double>(draw(92, 2001)) / 1000 - 1);
    step.step_ns = static_cast<std::int64_t>(static_cast<double>(terms.time_ps(step.load)) / 1000 * factor);
    steps.push_back(step);
  }
  return steps;
}

constexpr StepTerms kTerms{5'000'000'000, 700'000'000, 700'000'000, 3'000'000, 2'000'000};

void expect_near(const StepTerms& fitted, const StepTerms& true_terms, double share) {
  const auto near = [&](std::int64_t a, std::int64_t b) {
    EXPECT_NEAR(static_cast<double>(a), static_cast<double>(b), share * static_cast<double>(b));
  };
  near(fitted.fixed_ps, true_terms.fixed_ps);
  near(fitted.decode_token_ps, true_terms.decode_token_ps);
  near(fitted.decode_context_ps, true_terms.decode_context_ps);
  near(fitted.chunk_context_ps, true_terms.chunk_context_ps);
}

TEST(StepLoad, SumsWhatAttentionVisits) {
  StepLoad load;
  load.add(99, 1);   // attends to 100 positions
  load.add(50, 10);  // 10 x 50 before it, and half of itself
  EXPECT_EQ(load.decode_context, 100);
  EXPECT_EQ(load.chunk_context, 550);
  EXPECT_EQ(load.tokens(), 11);
}

TEST(StepModel, IsALineWithItsOverheadApart) {
  StepModel model;
  model.terms = kTerms;
  model.step_overhead_ns = 40'000;
  StepLoad load;
  load.add(99, 1);
  EXPECT_EQ(model.step_ns(load), 5'000'000 + 700'000 + 300'000 + 40'000);
  EXPECT_EQ(model.scaled(110).step_ns(load), 6'644'000);
}

TEST(StepModel, SwappedBlocksTakeTimeBesideTheStep) {
  StepModel model;
  model.terms = kTerms;
  StepLoad load;
  load.add(99, 1);
  const std::int64_t without_ns = model.step_ns(load);
  load.swapped_blocks = 3;
  EXPECT_EQ(model.step_ns(load) - without_ns, 3 * model.swap_block_ns);
}

TEST(StepModel, SeparatePassesPayBothConstants) {
  StepModel model;
  model.terms = {10'000'000, 2000, 1000, 0, 0};
  model.decode_regimes = {{1, {7'000'000, 0, 1000, 0, 0}}};
  StepLoad load;
  load.add(0, 50);
  load.add(99, 1);
  load.add(99, 1);
  EXPECT_EQ(model.step_ns(load), 10'000 + 100 + 2);
  model.separate_passes = true;
  EXPECT_EQ(model.step_ns(load), 10'000 + 100 + 7'000 + 2);
  StepLoad alone;
  alone.add(99, 1);
  EXPECT_EQ(model.step_ns(alone), 7'001);
}

TEST(StepModel, HasAnotherLineForLargeBatchesOfDecodes) {
  StepModel model;
  model.terms = {1000, 1000, 1000, 0, 0};
  model.decode_regimes = {{1, {2000, 0, 1000, 0, 0}}, {3, {7000, 0, 1000, 0, 0}}};
  StepLoad load;
  load.add(0, 1);
  EXPECT_EQ(model.step_ns(load), 3);
  load.add(0, 1), load.add(0, 1);
  EXPECT_EQ(model.step_ns(load), 10);
  load.add(0, 5);
  EXPECT_EQ(model.step_ns(load), 9) << "with a prompt: the common line";
}

TEST(Fit, FindsTheCoefficientsThatMadeTheSteps) {
  const auto fit = fit_steps(steps_of(kTerms, 0));
  ASSERT_TRUE(fit) << fit.error().message;
  expect_near(fit->terms, kTerms, 1e-4);
  EXPECT_LT(fit->mean_error, 1e-6);
  EXPECT_GT(fit->explained, 0.999999);
  const auto noisy = fit_steps(steps_of(kTerms, 0.1));
  ASSERT_TRUE(noisy);
  expect_near(noisy->terms, kTerms, 0.08);
  EXPECT_NEAR(noisy->mean_error, 0.05, 0.02);
  EXPECT_NEAR(noisy->total_error, 0, 0.01);
}

TEST(Fit, SetsAsideStepsThatOthersHeldUp) {
  auto steps = steps_of(kTerms, 0.02);
  for (std::size_t at = 0; at < steps.size(); at += 25) steps[at].step_ns *= 8;
  const auto fit = fit_steps(steps);
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_EQ(fit->set_aside, 16u);
  expect_near(fit->terms, kTerms, 0.05);
}

TEST(Fit, NoCoefficientIsBelowZero) {
  // Less time for more context: noise, and never a reason to predict that work gives time back.
  auto steps = steps_of({5'000'000'000, 700'000'000, 700'000'000, 0, 0}, 0);
  for (TimedStep& step : steps) step.step_ns -= step.load.decode_context;
  const auto fit = fit_steps_however_bad(steps);
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->terms.decode_context_ps, 0);
  EXPECT_GT(fit->terms.decode_token_ps, 0);
}

TEST(Fit, RefusesWhatItCannotExplain) {
  auto steps = steps_of(kTerms, 0);
  for (std::size_t at = 0; at < steps.size(); ++at) {
    steps[at].step_ns = static_cast<std::int64_t>(1'000'000 + random_u64(5, 5, at) % 90'000'000);
  }
  const auto fit = fit_steps(steps);
  ASSERT_FALSE(fit);
  EXPECT_THAT(fit.error().message, HasSubstr("residuals: mean"));
  EXPECT_THAT(fit_steps(std::span(steps).first(5)).error().message, HasSubstr("at least 20"));
}

TEST(Fit, ALogOfOneKindOfStepStillFits) {
  std::vector<TimedStep> steps(50);
  for (std::size_t at = 0; at < steps.size(); ++at) {
    steps[at].load.add(99, 1);
    steps[at].step_ns = 6'000'000 + static_cast<std::int64_t>(at % 3);
  }
  const auto fit = fit_steps_however_bad(steps);
  ASSERT_TRUE(fit);
  EXPECT_LT(fit->mean_error, 1e-3) << "one column explains them";
}

TEST(StepLog, IsReadBackAsItWas) {
  std::string text = std::string(kStepLogHeader) + "\n";
  const auto steps = steps_of(kTerms, 0.1);
  for (const TimedStep& step : steps) append_step(text, step);
  std::istringstream in(text);
  const auto read = read_step_log(in, "log");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), steps.size());
  EXPECT_EQ(read->back().load, steps.back().load);
  EXPECT_EQ(read->back().step_ns, steps.back().step_ns);
}

TEST(StepLog, NamesTheLineThatIsWrong) {
  const auto error_of = [](std::string text) {
    std::istringstream in(std::move(text));
    const auto read = read_step_log(in, "log");
    return read ? "none" : read.error().message;
  };
  const std::string header = std::string(kStepLogHeader) + "\n";
  EXPECT_THAT(error_of("tokens\n"), HasSubstr("log:1:"));
  EXPECT_THAT(error_of(header + "0,1,2,3,4,5,6\n1,2,x,4,5,6,7\n"), HasSubstr("log:3:"));
  EXPECT_THAT(error_of(header + "1,2,3,4,5,6,7,8\n"), HasSubstr("log:2:"));
  EXPECT_THAT(error_of(header + "1,2,3,4,5,6,-6\n"), HasSubstr("log:2:"));
  EXPECT_EQ(error_of(header + "1,2,3,4,5,6,7\n1,2,3"), "none") << "a log that is still being written";
}

TEST(StepLog, TellsTheTimeBetweenSteps) {
  std::vector<TimedStep> steps;
  for (std::int64_t at = 0; at < 9; ++at) steps.push_back({at * 1'000'000, 900'000, {}});
  steps.push_back({50'000'000'000, 900'000, {}});  // after a quiet time
  EXPECT_EQ(gap_between_steps_ns(steps), 100'000);
  EXPECT_EQ(gap_between_steps_ns({}), 0);
}

TEST(Profile, IsReadBackAsItWas) {
  for (const Profile& profile : published_profiles()) {
    const std::string json = profile_json(profile);
    const auto read = parse_profile(json, "file");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->model, profile.model);
    EXPECT_EQ(profile_json(*read), json);
    EXPECT_FALSE(profile.source.empty());
  }
}

TEST(Profile, SaysWhatIsWrongWithAFile) {
  EXPECT_THAT(parse_profile("{", "f").error().message, HasSubstr("f: not JSON"));
  EXPECT_THAT(parse_profile("{}", "f").error().message, HasSubstr("\"format\""));
  std::string json = profile_json(published_profiles().front());
  json.replace(json.find("\"fixed_ps\":") + 11, 1, "-");
  EXPECT_THAT(parse_profile(json, "f").error().message, HasSubstr("\"fixed_ps\" must be"));
  EXPECT_THAT(obtain_profile("absent").error().message, HasSubstr("opt-13b-a100-80g"));
}

TEST(Profile, DistServesLineIsTheOneThatWasPublished) {
  const Profile profile = *obtain_profile("opt-13b-a100-80g");
  StepLoad prefill;
  prefill.add(0, 512);
  EXPECT_NEAR(static_cast<double>(profile.model.step_ns(prefill)) / 1e6,
              18.1025 + 0.101912 * 512 + 7.1223e-6 * 512 * 512, 0.01);
  StepLoad decode;
  for (int at = 0; at < 120; ++at) decode.add(99, 1);
  EXPECT_NEAR(static_cast<double>(profile.model.step_ns(decode)) / 1e6,
              7.16619 + 5.798e-4 * 12000 + 0.158311 * 120, 0.01);
}

}  // namespace
}  // namespace paternoster::cost
