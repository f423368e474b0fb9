#include "simulator/engine.h"

#include <cstdio>
#include <cstdlib>

namespace paternoster::simulator {

void VirtualExecutor::execute(const scheduler::Plan& plan, scheduler::StepResult& result) {
  result.outcomes.clear();
  for (const scheduler::RunEntry& entry : plan.run) {
    if (!entry.samples) continue;
    const Flight& flight = flights_[entry.request.value];
    // Where the token drawn now will stand, counted from the end of the prompt.
    const auto position = entry.first_position + static_cast<std::int32_t>(entry.known_count());
    const bool last = position - flight.record.input_tokens + 1 >= flight.output_tokens;
    result.outcomes.push_back({entry.sequence, flight.token, last});
  }
}

Engine::Engine(scheduler::Scheduler&& scheduler, const cost::StepModel& model, Flights& flights, bool checks)
    : scheduler_(std::move(scheduler)), model_(model), executor_(flights), checks_(checks) {}

std::span<const scheduler::Event> Engine::submit(std::int64_t now_ns, scheduler::Request request) {
  if (checks_) ledger_.submitted(request.id);
  const auto events = scheduler_.submit(now_ns, std::move(request));
  if (checks_) ledger_.told(events);
  return events;
}

std::span<const scheduler::Event> Engine::cancel(std::int64_t now_ns, RequestId request) {
  const auto events = scheduler_.cancel(now_ns, request);
  if (checks_) ledger_.told(events);
  return events;
}

std::optional<std::int64_t> Engine::begin_step(std::int64_t now_ns) {
  const scheduler::Plan& plan = scheduler_.plan(now_ns);
  if (checks_) ledger_.planned(scheduler_);
  result_.outcomes.clear();
  if (plan.empty()) return std::nullopt;
  load_ = cost::load_of(plan);
  executor_.execute(plan, result_);
  return now_ns + model_.step_ns(load_) * pace_percent_ / 100;
}

std::span<const scheduler::Event> Engine::end_step(std::int64_t now_ns) {
  const auto events = scheduler_.commit(now_ns, result_);
  if (checks_) {
    ledger_.told(events);
    check();
  }
  return events;
}

std::span<const scheduler::Event> Engine::settle(std::int64_t now_ns) { return end_step(now_ns); }

void Engine::check() const {
  auto violation = scheduler::check(scheduler_);
  if (!violation) violation = ledger_.check(scheduler_);
  if (!violation) return;
  std::fprintf(stderr, "scheduler invariant %d is broken: %s\n", violation->number, violation->what.c_str());
  std::abort();
}

}  // namespace paternoster::simulator
