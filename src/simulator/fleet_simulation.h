// Many engines behind the fleet's own planner, under virtual time. Two kinds of engines:
//
//   static      runs one padded batch after the other, as SCLS's do (arXiv 2406.13511): prefill padded to
//               the longest input, then up to the slice's iterations, all members to the last who stops
//   continuous  the scheduler of this project (engine.h), given requests one by one (batching solo)
//
// What the fleet decides is fleet/'s alone; how long a batch takes is the step model's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "cost/step_model.h"
#include "fleet/fleet.h"
#include "simulator/engine.h"
#include "simulator/recorder.h"
#include "simulator/simulation.h"
#include "simulator/timed_queue.h"
#include "workload/workload.h"

namespace paternoster::simulator {

struct FleetOptions {
  fleet::Config fleet;        // its time and memory models are what the planner believes
  cost::StepModel model;      // what is true, of every engine
  bool continuous = false;
  scheduler::Config engine;   // continuous engines
  measure::Objectives objectives;
  std::int32_t allowed_tokens = 0;  // max_tokens of every request; 0: exactly what the answer has
  bool guesses = false;             // continuous engines are told the workload's guess of each answer's length
  // False: static batches run all of their iterations although everybody has stopped, as a server that
  // pads every answer to one length does.
  bool returns_early = true;
  std::vector<Fault> faults;
  std::function<void(const measure::RequestRecord&)> on_record;
};

struct FleetOutcome {
  measure::Summary summary;
  measure::Timeline timeline;
  fleet::Stats stats;
  std::vector<fleet::InstanceStats> instances;
  std::int64_t end_ns = 0;
  std::int64_t last_arrival_ns = 0;
  std::int64_t waiting_at_last_arrival = 0;
  std::int32_t most_live = 0;

  bool overloaded() const;  // is_overloaded
  // Deviation over engines of when each was done with its last batch, in seconds: SCLS's measure of
  // balance.
  double completion_deviation_s() const;
  double slices_per_request() const;
  double early_return_ratio() const;
};

// What the fleet's estimator would be fitted to on engines that follow `model`, for inputs about so long.
fleet::TimeModel time_model_of(const cost::StepModel& model, std::int64_t usual_input);

class FleetSimulation {
 public:
  static Result<FleetSimulation> create(FleetOptions options, workload::Source source);
  FleetOutcome run();

 private:
  // At equal times in this order.
  enum class What : std::uint8_t { kFault, kSubmit, kBatchEnd, kStepEnd, kAgain, kPlan };
  // A static batch: on its way, or waiting for its engine.
  struct StaticBatch {
    fleet::BatchId id;
    std::int32_t padded_input = 0;
    std::int32_t iterations = 0;
    bool prefills = true;
    std::vector<fleet::Member> members;
  };
  struct Instance {
    std::unique_ptr<Engine> engine;          // continuous
    std::vector<StaticBatch> queue;          // static; the first one runs
    std::vector<std::int64_t> token_times;   // of the one that runs, by iteration
    std::int64_t pace_percent = 100;
    std::uint64_t generation = 0;
    bool dead = false;
  };
  // A request for continuous engines: what they are asked, and which batch of the fleet it is.
  struct Solo {
    scheduler::Request asked;
    fleet::BatchId batch;
    std::int32_t produced = 0;
  };

  FleetSimulation(FleetOptions options, workload::Source source, fleet::Fleet&& planner);

  void arrive();
  void submit(std::uint64_t slot);
  void plan();
  void send(const fleet::Batch& batch, std::span<const fleet::Member> members);
  void send_solo(const fleet::Batch& batch, const fleet::Member& member);
  void start_batch(std::uint32_t at);
  void end_batch(std::uint32_t at);
  void begin_step(std::uint32_t at);
  void end_step(std::uint32_t at);
  void take(std::span<const scheduler::Event> events);
  void take(std::span<const fleet::Event> events);
  void fail(const Fault& fault);
  void close(std::uint64_t slot, measure::Status status);
  std::unique_ptr<Engine> new_engine();

  FleetOptions options_;
  workload::Source source_;
  fleet::Fleet fleet_;
  std::unique_ptr<Recorder> recorder_;
  std::vector<Instance> instances_;
  std::vector<fleet::Request> requests_;             // on their way in, by slot
  std::vector<Solo> solos_;                          // by slot, where engines are continuous
  TimedQueue<What> events_;
  std::int64_t now_ns_ = 0;
  std::int64_t planned_for_ns_ = -1;  // a plan is due at this time already
};

}  // namespace paternoster::simulator
