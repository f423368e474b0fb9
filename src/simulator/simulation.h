// A workload under virtual time: requests arrive, the engine's own scheduler decides, a step model says
// how long each step takes, and what became of every request is folded into a summary. The same options
// and seed give the same result to the bit.
//
//   auto simulation = Simulation::create(options, std::move(source));
//   const Outcome outcome = simulation->run();
//
// Memory does not grow with the number of requests: records leave through Options::on_record as they
// end. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cost/step_model.h"
#include "measure/summary.h"
#include "measure/timeline.h"
#include "scheduler/choices.h"
#include "scheduler/journal.h"
#include "simulator/engine.h"
#include "simulator/recorder.h"
#include "simulator/timed_queue.h"
#include "workload/workload.h"

namespace paternoster::simulator {

// What happens to the engine on its way.
struct Fault {
  enum class Kind : std::uint8_t {
    kDie,     // all it had is lost; whoever comes is turned away
    kSlow,    // its steps take percent / 100 of their time from now on
    kReturn,  // it is as it was at first, and empty
  };
  Kind kind = Kind::kDie;
  std::int64_t at_ns = 0;
  std::int32_t instance = 0;
  std::int64_t percent = 100;
};

// "die@30s", "slow:200@1m", "return@90s"; of another instance than the first: "die#2@30s".
Result<Fault> parse_fault(std::string_view text);

// One step as it went, for traces.
struct StepSeen {
  std::int32_t instance = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  const cost::StepLoad& load;
  const scheduler::Plan& plan;
  std::int32_t running = 0;
  std::int32_t waiting = 0;
  double kv_used = 0;
};

struct Progress {
  std::uint64_t requests = 0;  // over
  std::uint64_t total = 0;
  std::int64_t now_ns = 0;     // virtual
};

struct Options {
  scheduler::Config config;
  cost::StepModel model;
  measure::Objectives objectives;
  // What clients allow: max_tokens of every request; 0: exactly what the answer has.
  std::int32_t allowed_tokens = 0;
  bool guesses = false;  // the scheduler is told the workload's guess of each answer's length
  std::vector<Fault> faults;
  bool check_invariants = false;
  scheduler::Journal* journal = nullptr;
  std::function<void(const measure::RequestRecord&)> on_record;
  std::function<void(const StepSeen&)> on_step;
  std::function<void(const Progress&)> on_progress;  // now and then
};

struct Outcome {
  measure::Summary summary;
  measure::Timeline timeline;
  scheduler::Stats stats;
  std::uint64_t steps = 0;
  std::uint64_t sequence_steps = 0;  // entries of all plans
  std::int32_t most_live = 0;        // requests under way at once
  std::int64_t busy_ns = 0;          // in steps
  std::int64_t end_ns = 0;           // the last end of a request
  std::int64_t last_arrival_ns = 0;
  std::int64_t waiting_at_last_arrival = 0;

  bool overloaded() const;  // is_overloaded
};

class Simulation {
 public:
  static Result<Simulation> create(Options options, workload::Source source);

  Outcome run();

 private:
  enum class What : std::uint8_t { kFault, kSubmit, kStepEnd, kPlanAgain };  // at equal times in this order

  Simulation(Options options, workload::Source source);

  void arrive();
  void submit(std::uint64_t slot);
  void fail(const Fault& fault);
  void begin_step();
  void end_step();
  void take(std::span<const scheduler::Event> events);
  void close(std::uint64_t slot, measure::Status status);
  void report_progress();
  std::unique_ptr<Engine> new_engine() const;

  Options options_;
  workload::Source source_;
  std::unique_ptr<Recorder> recorder_;  // the engine points into it
  std::unique_ptr<Engine> engine_;    // none: it is dead
  std::vector<scheduler::Request> requests_;  // on their way in, by slot
  Outcome outcome_;
  TimedQueue<What> events_;
  std::int64_t now_ns_ = 0;
  std::int64_t step_began_ns_ = 0;
  std::int64_t pace_percent_ = 100;
  std::uint64_t generation_ = 0;  // of the engine: a dead one's step end is passed over
};

}  // namespace paternoster::simulator
