#include "simulator/fleet_simulation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "fleet/prefix_chain.h"
#include "simulator/engine_request.h"

namespace paternoster::simulator {
namespace {

using measure::Status;

constexpr std::size_t kChainBlock = 16;
constexpr std::size_t kChainBlocks = 256;

// Prefill of a batch padded to one length.
cost::StepLoad prefill_load(std::int64_t sequences, std::int64_t input) {
  cost::StepLoad load;
  for (std::int64_t one = 0; one < sequences; ++one) load.add(0, input);
  return load;
}

// One more token of each, whether anybody wants it or not.
cost::StepLoad decode_load(std::int64_t sequences, std::int64_t context) {
  cost::StepLoad load;
  load.sequences = load.decode_tokens = sequences;
  load.decode_context = sequences * context;
  return load;
}

}  // namespace

bool FleetOutcome::overloaded() const { return is_overloaded(summary, waiting_at_last_arrival); }

double FleetOutcome::completion_deviation_s() const {
  measure::Distribution times;
  for (const fleet::InstanceStats& one : instances) {
    times.add(static_cast<double>(std::max<std::int64_t>(one.last_done_ns, 0)));
  }
  return times.deviation() / 1e9;
}

double FleetOutcome::slices_per_request() const {
  return static_cast<double>(stats.slices_sent) /
         static_cast<double>(std::max<std::uint64_t>(stats.requests_finished, 1));
}

double FleetOutcome::early_return_ratio() const {
  return static_cast<double>(stats.early_returns) / static_cast<double>(std::max<std::uint64_t>(stats.batches_done, 1));
}

fleet::TimeModel time_model_of(const cost::StepModel& model, std::int64_t usual_input) {
  const cost::StepTerms& decode = model.decode_regimes.empty() ? model.terms : model.decode_regimes.front().terms;
  const std::int64_t overhead_ps = model.step_overhead_ns * 1000;
  fleet::TimeModel time;
  time.prefill_base_ps = model.terms.fixed_ps + overhead_ps;
  time.prefill_token_ps = model.terms.prompt_token_ps + model.terms.chunk_context_ps * usual_input / 2;
  time.decode_base_ps = decode.fixed_ps + overhead_ps;
  time.decode_sequence_ps = decode.decode_token_ps;
  time.decode_context_ps = decode.decode_context_ps;
  return time;
}

Result<FleetSimulation> FleetSimulation::create(FleetOptions options, workload::Source source) {
  auto planner = fleet::Fleet::create(options.fleet);
  if (!planner) return std::unexpected(planner.error());
  if (options.continuous) {
    if (auto valid = scheduler::validate(options.engine); !valid) return std::unexpected(valid.error());
    if (options.fleet.choices.batching != fleet::Batching::kSolo) {
      return failure(ErrorCode::kInvalidArgument, "engines that batch continuously are given requests one by one");
    }
  }
  for (const Fault& fault : options.faults) {
    if (fault.instance >= options.fleet.limits.instances) {
      return failure(ErrorCode::kInvalidArgument, "a fault names an instance that is not there");
    }
  }
  return FleetSimulation(std::move(options), std::move(source), std::move(*planner));
}

FleetSimulation::FleetSimulation(FleetOptions options, workload::Source source, fleet::Fleet&& planner)
    : options_(std::move(options)),
      source_(std::move(source)),
      fleet_(std::move(planner)),
      recorder_(std::make_unique<Recorder>(source_, options_.objectives, options_.model.egress_ns,
                                           options_.on_record)),
      instances_(static_cast<std::size_t>(options_.fleet.limits.instances)) {}

std::unique_ptr<Engine> FleetSimulation::new_engine() {
  auto made = scheduler::Scheduler::create(options_.engine);
  PATERNOSTER_CHECK(made.has_value());
  return std::make_unique<Engine>(std::move(*made), options_.model, recorder_->flights(), false);
}

FleetOutcome FleetSimulation::run() {
  if (options_.continuous) {
    for (Instance& one : instances_) one.engine = new_engine();
  }
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
    const auto which = static_cast<std::uint32_t>(next.which);
    switch (next.what) {
      case What::kFault: fail(options_.faults[next.which]); break;
      case What::kSubmit: submit(next.which); break;
      case What::kBatchEnd:
        if (next.generation == instances_[which].generation) end_batch(which);
        break;
      case What::kStepEnd:
        if (next.generation == instances_[which].generation) end_step(which);
        break;
      case What::kAgain:
        if (next.generation == instances_[which].generation && !instances_[which].engine->stepping()) begin_step(which);
        break;
      case What::kPlan: plan(); break;
    }
    if (source_.next() == nullptr && recorder_->flights().open_count() == 0) break;
  }
  FleetOutcome outcome;
  outcome.stats = fleet_.stats();
  for (std::uint32_t at = 0; at < instances_.size(); ++at) {
    outcome.instances.push_back(fleet_.stats(fleet::InstanceId{at}));
  }
  outcome.summary = recorder_->finish();
  outcome.timeline = std::move(recorder_->timeline());
  outcome.end_ns = recorder_->end_ns();
  outcome.last_arrival_ns = recorder_->last_arrival_ns();
  outcome.waiting_at_last_arrival = recorder_->waiting_at_last_arrival();
  outcome.most_live = recorder_->most_live();
  return outcome;
}

void FleetSimulation::arrive() {
  const workload::Arrival& arrival = *source_.next();
  now_ns_ = arrival.at_ns;
  const std::uint64_t slot = recorder_->open(arrival);
  if (slot >= requests_.size()) {
    requests_.resize(slot + 1);
    solos_.resize(slot + 1);
  }
  fleet::Request& request = requests_[slot];
  request = {};
  request.id = RequestId{slot};
  request.prompt_tokens = arrival.input_tokens;
  request.max_tokens = std::max(options_.allowed_tokens, arrival.output_tokens);
  if (options_.continuous) {
    const bool shares = options_.engine.limits.prefix_cache;
    solos_[slot] = {engine_request(source_, arrival, slot, {options_.allowed_tokens, options_.guesses, shares}), {}, 0};
    if (shares) request.prefix = fleet::prefix_chain(solos_[slot].asked.prompt, kChainBlock, kChainBlocks, 0);
  }
  events_.push(arrival.at_ns + options_.model.arrival_delay_ns(arrival.input_tokens), What::kSubmit, slot);
  source_.take();
}

void FleetSimulation::submit(std::uint64_t slot) {
  recorder_->flights()[slot].submitted = true;
  take(fleet_.submit(now_ns_, std::move(requests_[slot])));
  plan();
}

void FleetSimulation::plan() {
  const fleet::Plan& plan = fleet_.plan(now_ns_);
  const fleet::Stats stats = fleet_.stats();
  measure::Timeline::Moment state;
  state.running = stats.running;
  state.waiting = stats.pool;
  recorder_->stand(now_ns_, state);
  for (const fleet::Batch& batch : plan.batches) send(batch, plan.members_of(batch));
  if (plan.next_ns != fleet::Plan::kNever && plan.next_ns != planned_for_ns_) {
    planned_for_ns_ = plan.next_ns;
    events_.push(std::max(plan.next_ns, now_ns_), What::kPlan, 0);
  }
}

void FleetSimulation::send(const fleet::Batch& batch, std::span<const fleet::Member> members) {
  if (options_.continuous) {
    PATERNOSTER_CHECK(members.size() == 1);
    send_solo(batch, members.front());
    return;
  }
  StaticBatch made{batch.id, batch.padded_input, batch.iterations, false, {members.begin(), members.end()}};
  for (const fleet::Member& member : members) made.prefills |= !member.kept;
  Instance& instance = instances_[batch.instance.value];
  instance.queue.push_back(std::move(made));
  if (instance.queue.size() == 1) start_batch(batch.instance.value);
}

void FleetSimulation::send_solo(const fleet::Batch& batch, const fleet::Member& member) {
  const std::uint64_t slot = member.request.value;
  const std::uint32_t at = batch.instance.value;
  Flight& flight = recorder_->flights()[slot];
  flight.record.instance = static_cast<std::int32_t>(at);
  solos_[slot].batch = batch.id;
  solos_[slot].produced = 0;
  scheduler::Request request = solos_[slot].asked;
  request.prompt.resize(static_cast<std::size_t>(member.input_tokens), flight.token);  // what it has said so far
  request.max_tokens = member.most_tokens;
  if (request.expected_tokens > 0) {
    request.expected_tokens = std::clamp(request.expected_tokens - member.output_tokens, 1, request.max_tokens);
  }
  take(instances_[at].engine->submit(now_ns_, std::move(request)));
  if (!instances_[at].engine->stepping()) begin_step(at);
}

// The whole batch in one go: when each of its iterations ends.
void FleetSimulation::start_batch(std::uint32_t at) {
  Instance& instance = instances_[at];
  const StaticBatch& batch = instance.queue.front();
  std::int32_t longest = 0;
  for (const fleet::Member& member : batch.members) {
    Flight& flight = recorder_->flights()[member.request.value];
    flight.record.instance = static_cast<std::int32_t>(at);
    recorder_->seat(member.request.value, now_ns_, 0);
    longest = std::max(longest, std::min(member.most_tokens, flight.output_tokens - member.output_tokens));
  }
  if (!options_.returns_early) longest = batch.iterations;
  const auto size = static_cast<std::int64_t>(batch.members.size());
  std::int64_t end_ns = now_ns_;
  instance.token_times.clear();
  for (std::int32_t iteration = 1; iteration <= std::min(batch.iterations, longest); ++iteration) {
    // The first token comes with the prefill.
    const bool prefills = iteration == 1 && batch.prefills;
    const cost::StepLoad load =
        prefills ? prefill_load(size, batch.padded_input) : decode_load(size, batch.padded_input + iteration - 1);
    end_ns += options_.model.step_ns(load) * instance.pace_percent / 100;
    instance.token_times.push_back(end_ns);
  }
  events_.push(end_ns, What::kBatchEnd, at, instance.generation);
}

void FleetSimulation::end_batch(std::uint32_t at) {
  Instance& instance = instances_[at];
  const StaticBatch batch = std::move(instance.queue.front());
  instance.queue.erase(instance.queue.begin());
  fleet::SliceResult result;
  result.batch = batch.id;
  result.iterations = static_cast<std::int32_t>(instance.token_times.size());
  for (const fleet::Member& member : batch.members) {
    const std::uint64_t slot = member.request.value;
    const Flight& flight = recorder_->flights()[slot];
    const std::int32_t left = flight.output_tokens - member.output_tokens;
    const std::int32_t produced = std::min({left, member.most_tokens, result.iterations});
    for (std::int32_t token = 0; token < produced; ++token) {
      recorder_->token(slot, instance.token_times[static_cast<std::size_t>(token)]);
    }
    result.members.push_back({member.request, produced, produced == left});
  }
  measure::Timeline::Moment counts;
  for (const fleet::MemberResult& member : result.members) counts.output_tokens += member.produced;
  recorder_->timeline().add(now_ns_, now_ns_, counts);
  if (!instance.queue.empty()) start_batch(at);
  take(fleet_.commit(now_ns_, result));
  plan();
}

void FleetSimulation::begin_step(std::uint32_t at) {
  Instance& instance = instances_[at];
  if (const auto end_ns = instance.engine->begin_step(now_ns_)) {
    events_.push(*end_ns, What::kStepEnd, at, instance.generation);
    return;
  }
  take(instance.engine->settle(now_ns_));
  const std::int64_t again_ns = instance.engine->again_ns();
  if (again_ns > 0) events_.push(std::max(again_ns, now_ns_ + 1), What::kAgain, at, instance.generation);
}

void FleetSimulation::end_step(std::uint32_t at) {
  take(instances_[at].engine->end_step(now_ns_));
  if (instances_[at].engine && !instances_[at].engine->stepping()) begin_step(at);
}

void FleetSimulation::take(std::span<const scheduler::Event> events) {
  std::vector<fleet::SliceResult> results;
  for (const scheduler::Event& event : events) {
    const std::uint64_t slot = event.request.value;
    Flight& flight = recorder_->flights()[slot];
    switch (event.kind) {
      case scheduler::EventKind::kToken:
        recorder_->token(slot, event.at_ns);
        ++solos_[slot].produced;
        fleet_.progress(event.request, solos_[slot].produced);
        break;
      case scheduler::EventKind::kAdmitted: recorder_->seat(slot, event.at_ns, event.count); break;
      case scheduler::EventKind::kPreempted: ++flight.record.preemptions; break;
      case scheduler::EventKind::kRequestFinished: {
        const bool stopped = flight.record.output_tokens >= flight.output_tokens;
        const std::int32_t produced = solos_[slot].produced;
        results.push_back({solos_[slot].batch, produced, {{event.request, produced, stopped}}});
        break;
      }
      case scheduler::EventKind::kRefused:
        flight.record.error = to_string(event.refusal);
        take(fleet_.cancel(now_ns_, event.request));
        break;
      case scheduler::EventKind::kAccepted:
      case scheduler::EventKind::kFinished: break;
    }
  }
  if (results.empty()) return;
  for (const fleet::SliceResult& result : results) take(fleet_.commit(now_ns_, result));
  // Not at once: the engine is in the middle of telling.
  events_.push(now_ns_, What::kPlan, 0);
}

void FleetSimulation::take(std::span<const fleet::Event> events) {
  for (const fleet::Event& event : events) {
    const std::uint64_t slot = event.request.value;
    Flight& flight = recorder_->flights()[slot];
    switch (event.kind) {
      case fleet::EventKind::kRefused:
        flight.record.error = to_string(event.refusal);
        close(slot, Status::kRefused);
        break;
      case fleet::EventKind::kFinished: {
        const bool whole = event.finish == fleet::FinishReason::kStop || event.finish == fleet::FinishReason::kLength;
        if (!whole && flight.record.error.empty()) flight.record.error = to_string(event.finish);
        close(slot, whole ? Status::kCompleted : Status::kFailed);
        break;
      }
      case fleet::EventKind::kSliceLost: ++flight.record.preemptions; break;
      case fleet::EventKind::kAccepted:
      case fleet::EventKind::kSliceDone: break;
    }
  }
}

void FleetSimulation::fail(const Fault& fault) {
  const auto at = static_cast<std::uint32_t>(fault.instance);
  Instance& instance = instances_[at];
  if (fault.kind == Fault::Kind::kSlow) {
    instance.pace_percent = fault.percent;
    if (instance.engine) instance.engine->set_pace(fault.percent);
    return;
  }
  if (fault.kind == Fault::Kind::kReturn) {
    instance.pace_percent = 100;
    if (instance.engine) instance.engine->set_pace(100);
    if (!std::exchange(instance.dead, false)) return;
    if (options_.continuous) instance.engine = new_engine();
    take(fleet_.set_instance(now_ns_, fleet::InstanceId{at}, fleet::InstanceState::kAlive));
    plan();
    return;
  }
  if (std::exchange(instance.dead, true)) return;
  ++instance.generation;
  instance.queue.clear();
  instance.engine.reset();
  take(fleet_.set_instance(now_ns_, fleet::InstanceId{at}, fleet::InstanceState::kDead));
  plan();
}

void FleetSimulation::close(std::uint64_t slot, Status status) {
  recorder_->close(slot, status, now_ns_);
  source_.ended(now_ns_ + options_.model.egress_ns);
}

}  // namespace paternoster::simulator
