#include "engine/calibration_run.h"

#include <algorithm>

#include "base/random.h"
#include "engine/drive.h"
#include "engine/engine_loop.h"

namespace paternoster::engine {
namespace {

constexpr std::int32_t kAnswer = 12;          // decode steps a batch: shapes matter, not their number
constexpr std::int64_t kBatchTokens = 1500;   // prompts of a batch together, so that many shapes get a turn

class Shapes {
 public:
  Shapes(const CalibrationPlan& plan, std::uint32_t vocabulary) : plan_(plan), vocabulary_(vocabulary) {}

  // The next batch: its size doubles from one to all seats and begins anew; lengths differ.
  std::vector<std::shared_ptr<RequestNumbers>> next() {
    const std::int32_t seats = plan_.limits.max_seqs;
    std::int32_t size = 1;
    for (std::uint64_t turn = batch_ % 12; turn >= 2 && size < seats; turn -= 2) size *= 2;
    size = std::min(size, seats);
    const std::int64_t room = plan_.limits.max_len - kAnswer - 1;
    const std::int64_t mean = std::clamp<std::int64_t>(kBatchTokens / size, 8, room);
    std::vector<std::shared_ptr<RequestNumbers>> batch;
    for (std::int32_t one = 0; one < size; ++one) {
      const auto drawn = static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(2 * mean));
      const auto length = std::clamp<std::int64_t>(drawn, 4, room);
      batch.push_back(prompt_of(length));
    }
    ++batch_;
    return batch;
  }

 private:
  std::uint64_t draw() { return random_u64(plan_.seed, 1, drawn_++); }
  std::shared_ptr<RequestNumbers> prompt_of(std::int64_t length) {
    auto numbers = std::make_shared<RequestNumbers>();
    numbers->params.temperature = 0;
    for (std::int64_t at = 0; at < length; ++at) {
      numbers->prompt.push_back(static_cast<TokenId>(draw() % vocabulary_));
    }
    return numbers;
  }

  const CalibrationPlan& plan_;
  std::uint32_t vocabulary_;
  std::uint64_t batch_ = 0;
  std::uint64_t drawn_ = 0;
};

}  // namespace

std::vector<cost::TimedStep> run_calibration(const PackedModel& model, ThreadPool& pool,
                                             const CalibrationPlan& plan) {
  scheduler::Config config;
  config.limits = plan.limits;
  config.limits.prefix_cache = false;
  Drive drive(model, pool, config);
  Shapes shapes(plan, model.config().vocabulary);
  std::vector<cost::TimedStep> steps;
  const std::int64_t began_ns = now_ns();
  std::int64_t spent_ns = 0;
  for (bool warm = false; spent_ns < plan.budget_ns; warm = true) {
    for (auto& prompt : shapes.next()) drive.submit(std::move(prompt), kAnswer);
    DrivenStep driven;
    std::int64_t begin_ns = now_ns();
    while (drive.step(driven)) {
      const cost::StepLoad load = cost::load_of(drive.scheduler().last_plan());
      if (warm) steps.push_back({begin_ns, driven.plan_ns + driven.execute_ns, load});
      begin_ns = now_ns();
    }
    spent_ns = now_ns() - began_ns;
    if (plan.on_progress) plan.on_progress(spent_ns);
  }
  return steps;
}

}  // namespace paternoster::engine
