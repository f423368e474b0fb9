#include "simulator/simulation.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "base/duration.h"
#include "simulator/engine_request.h"

namespace paternoster::simulator {
namespace {

using measure::Status;
using scheduler::EventKind;

constexpr std::uint64_t kProgressEvery = 4096;  // steps

template <typename T>
bool read_whole(std::string_view text, T least, T most, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= least && value <= most;
}

bool is_complete(scheduler::FinishReason reason) {
  return reason == scheduler::FinishReason::kStop || reason == scheduler::FinishReason::kLength;
}

}  // namespace

bool Outcome::overloaded() const { return is_overloaded(summary, waiting_at_last_arrival); }

Result<Simulation> Simulation::create(Options options, workload::Source source) {
  if (auto valid = scheduler::validate(options.config); !valid) return std::unexpected(valid.error());
  for (const Fault& fault : options.faults) {
    if (fault.instance != 0) {
      return failure(ErrorCode::kInvalidArgument, "a fault names an instance that is not there");
    }
  }
  return Simulation(std::move(options), std::move(source));
}

Simulation::Simulation(Options options, workload::Source source)
    : options_(std::move(options)),
      source_(std::move(source)),
      recorder_(std::make_unique<Recorder>(source_, options_.objectives, options_.model.egress_ns,
                                           options_.on_record)) {}

std::unique_ptr<Engine> Simulation::new_engine() const {
  auto made = scheduler::Scheduler::create(options_.config);
  PATERNOSTER_CHECK(made.has_value());
  return std::make_unique<Engine>(std::move(*made), options_.model, recorder_->flights(), options_.check_invariants);
}

Outcome Simulation::run() {
  engine_ = new_engine();
  if (options_.journal != nullptr) engine_->scheduler().record_to(options_.journal);
  for (std::size_t at = 0; at < options_.faults.size(); ++at) {
    events_.push(options_.faults[at].at_ns, What::kFault, at);
  }
  while (true) {
    if (events_.comes_after(source_.next())) {
      arrive();
      continue;
    }
    if (events_.empty()) break;
    const auto next = events_.pop();
    now_ns_ = next.at_ns;
    recorder_->advance(now_ns_);
    switch (next.what) {
      case What::kFault: fail(options_.faults[next.which]); break;
      case What::kSubmit: submit(next.which); break;
      case What::kStepEnd:
        if (next.generation == generation_) end_step();
        break;
      case What::kPlanAgain:
        if (next.generation == generation_ && !engine_->stepping()) begin_step();
        break;
    }
    // Faults that lie after the last request change nothing.
    if (source_.next() == nullptr && recorder_->flights().open_count() == 0) break;
  }
  if (engine_) outcome_.stats = engine_->scheduler().stats();
  outcome_.summary = recorder_->finish();
  outcome_.end_ns = recorder_->end_ns();
  outcome_.last_arrival_ns = recorder_->last_arrival_ns();
  outcome_.waiting_at_last_arrival = recorder_->waiting_at_last_arrival();
  outcome_.most_live = recorder_->most_live();
  outcome_.timeline = std::move(recorder_->timeline());
  return std::move(outcome_);
}

void Simulation::arrive() {
  const workload::Arrival& arrival = *source_.next();
  now_ns_ = arrival.at_ns;
  recorder_->advance(now_ns_);
  const std::uint64_t slot = recorder_->open(arrival);
  if (slot >= requests_.size()) requests_.resize(slot + 1);
  requests_[slot] = engine_request(source_, arrival, slot,
                                   {options_.allowed_tokens, options_.guesses, options_.config.limits.prefix_cache});
  events_.push(arrival.at_ns + options_.model.arrival_delay_ns(arrival.input_tokens), What::kSubmit, slot);
  source_.take();
}

void Simulation::submit(std::uint64_t slot) {
  if (!engine_) {
    recorder_->flights()[slot].record.error = "the engine is dead";
    close(slot, Status::kFailed);
    return;
  }
  recorder_->flights()[slot].submitted = true;
  take(engine_->submit(now_ns_, std::move(requests_[slot])));
  if (!engine_->stepping()) begin_step();
}

void Simulation::fail(const Fault& fault) {
  switch (fault.kind) {
    case Fault::Kind::kSlow:
      pace_percent_ = fault.percent;
      if (engine_) engine_->set_pace(pace_percent_);
      return;
    case Fault::Kind::kReturn:
      pace_percent_ = 100;
      if (engine_) {
        engine_->set_pace(100);
      } else {
        engine_ = new_engine();
      }
      return;
    case Fault::Kind::kDie: break;
  }
  if (!engine_) return;
  ++generation_;
  engine_.reset();
  recorder_->stand(now_ns_, {});
  for (const std::uint64_t slot : recorder_->flights().list_submitted()) {
    recorder_->flights()[slot].record.error = "the engine died";
    close(slot, Status::kFailed);
  }
}

void Simulation::begin_step() {
  const auto end = engine_->begin_step(now_ns_);
  if (!end) {
    take(engine_->settle(now_ns_));
    const std::int64_t again_ns = engine_->again_ns();
    if (again_ns > 0) events_.push(std::max(again_ns, now_ns_ + 1), What::kPlanAgain, 0, generation_);
    return;
  }
  step_began_ns_ = now_ns_;
  events_.push(*end, What::kStepEnd, 0, generation_);
}

void Simulation::end_step() {
  const scheduler::Plan& plan = engine_->scheduler().last_plan();
  const std::size_t entries = plan.run.size();
  ++outcome_.steps;
  outcome_.sequence_steps += entries;
  outcome_.busy_ns += now_ns_ - step_began_ns_;
  const auto events = engine_->end_step(now_ns_);
  take(events);
  const scheduler::Stats stats = engine_->scheduler().stats();
  const double kv_used = static_cast<double>(stats.blocks_used) / std::max(stats.blocks_total, 1);
  if (options_.on_step) {
    options_.on_step({0, step_began_ns_, now_ns_, engine_->load(), plan, stats.running, stats.waiting, kv_used});
  }
  measure::Timeline::Moment counts;
  counts.input_tokens = static_cast<double>(engine_->load().prompt_tokens);
  counts.output_tokens = static_cast<double>(engine_->sampled());
  counts.preemptions = static_cast<double>(plan.preempted.size());
  recorder_->timeline().add(now_ns_, now_ns_, counts);
  measure::Timeline::Moment state;
  state.running = stats.running;
  state.waiting = stats.waiting;
  state.kv_used = kv_used;
  recorder_->stand(now_ns_, state);
  if (outcome_.steps % kProgressEvery == 0) report_progress();
  begin_step();
}

void Simulation::take(std::span<const scheduler::Event> events) {
  for (const scheduler::Event& event : events) {
    const std::uint64_t slot = event.request.value;
    measure::RequestRecord& record = recorder_->flights()[slot].record;
    switch (event.kind) {
      case EventKind::kToken: recorder_->token(slot, event.at_ns); break;
      case EventKind::kAdmitted: recorder_->seat(slot, event.at_ns, event.count); break;
      case EventKind::kPreempted: ++record.preemptions; break;
      case EventKind::kRefused:
        record.error = to_string(event.refusal);
        close(slot, Status::kRefused);
        break;
      case EventKind::kRequestFinished:
        close(slot, record.error.empty() ? Status::kCompleted : Status::kFailed);
        break;
      case EventKind::kFinished:
        if (!is_complete(event.finish)) record.error = to_string(event.finish);
        break;
      case EventKind::kAccepted: break;
    }
  }
}

void Simulation::close(std::uint64_t slot, Status status) {
  recorder_->close(slot, status, now_ns_);
  source_.ended(now_ns_ + options_.model.egress_ns);
}

void Simulation::report_progress() {
  if (options_.on_progress) options_.on_progress({recorder_->over(), source_.description().count, now_ns_});
}

Result<Fault> parse_fault(std::string_view text) {
  const auto bad = [&] {
    return failure(ErrorCode::kInvalidArgument,
                   "'" + std::string(text) + "' is not a fault: write die@30s, slow:200@1m or return@90s "
                   "(of another instance than the first: die#2@30s)");
  };
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) return bad();
  std::string_view what = text.substr(0, at);
  const auto when = parse_duration(text.substr(at + 1));
  if (!when) return bad();
  Fault fault;
  fault.at_ns = *when;
  if (const std::size_t mark = what.find('#'); mark != std::string_view::npos) {
    if (!read_whole(what.substr(mark + 1), 1, 1 << 16, fault.instance)) return bad();
    --fault.instance;
    what = what.substr(0, mark);
  }
  if (what == "die") return fault;
  if (what == "return") {
    fault.kind = Fault::Kind::kReturn;
    return fault;
  }
  fault.kind = Fault::Kind::kSlow;
  if (!what.starts_with("slow:") || !read_whole<std::int64_t>(what.substr(5), 1, 100'000, fault.percent)) return bad();
  return fault;
}

}  // namespace paternoster::simulator
