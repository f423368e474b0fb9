// Drives the real engine through batches of many shapes and notes what every step took: the log that
// calibration fits (cost/fit.h). Without threads, sockets or text, as drive.h.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cost/step_log.h"
#include "engine/packed_model.h"
#include "engine/thread_pool.h"
#include "scheduler/choices.h"

namespace paternoster::engine {

struct CalibrationPlan {
  scheduler::Limits limits;        // as the engine will be served
  std::int64_t budget_ns = 25'000'000'000;  // begins no batch after so much time
  std::uint64_t seed = 1;
  std::function<void(std::int64_t spent_ns)> on_progress;
};

std::vector<cost::TimedStep> run_calibration(const PackedModel& model, ThreadPool& pool,
                                             const CalibrationPlan& plan);

}  // namespace paternoster::engine
