#include "engine/drive.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/check.h"
#include "engine/clock.h"

namespace paternoster::engine {
namespace {

scheduler::Scheduler make_scheduler(const scheduler::Config& config) {
  auto made = scheduler::Scheduler::create(config);
  PATERNOSTER_CHECK(made.has_value());
  return std::move(*made);
}

}  // namespace

Drive::Drive(const PackedModel& model, ThreadPool& pool, const scheduler::Config& config,
             kernels::KvType kv_type, std::unique_ptr<SwapFile> swap_file)
    : cache_(model.layers().size(), model.kv_shape(kv_type),
             static_cast<std::size_t>(config.limits.num_blocks),
             static_cast<std::size_t>(config.limits.swap_blocks), std::move(swap_file)),
      executor_(model, cache_, pool,
                static_cast<std::size_t>(config.choices.prefill != scheduler::Prefill::kWhole
                                             ? config.limits.step_tokens
                                             : std::max(config.limits.step_tokens, config.limits.max_len))),
      scheduler_(make_scheduler(config)) {}

std::uint64_t Drive::submit(std::shared_ptr<RequestNumbers> numbers, std::int32_t max_tokens,
                            std::int32_t choices) {
  scheduler::Request request;
  request.id = RequestId{outcomes_.size()};
  request.prompt = numbers->prompt;
  request.prompt.insert(request.prompt.end(), numbers->said.begin(), numbers->said.end());
  request.max_tokens = max_tokens;
  request.choices = choices;
  request.reads_prefix_cache = !numbers->score_prompt;
  numbers_.push_back(std::move(numbers));
  outcomes_.emplace_back(static_cast<std::size_t>(choices));
  take(scheduler_.submit(now_ns(), std::move(request)));
  return outcomes_.size() - 1;
}

void Drive::take(std::span<const scheduler::Event> events) {
  for (const scheduler::Event& event : events) {
    if (event.kind == scheduler::EventKind::kAccepted) {
      for (std::int32_t choice = 0; choice < event.count; ++choice) {
        const SequenceId sequence{event.sequence.value + static_cast<std::uint64_t>(choice)};
        executor_.add(sequence, choice, numbers_[event.request.value]);
        by_sequence_[sequence] = &outcomes_[event.request.value][static_cast<std::size_t>(choice)];
      }
    } else if (event.kind == scheduler::EventKind::kToken) {
      by_sequence_.at(event.sequence)->said_all = event.last;
    } else if (event.kind == scheduler::EventKind::kFinished) {
      executor_.remove(event.sequence);
      by_sequence_.erase(event.sequence);
    } else {
      PATERNOSTER_CHECK(event.kind != scheduler::EventKind::kRefused);
    }
  }
}

bool Drive::step(DrivenStep& step) {
  const std::int64_t begin_ns = now_ns();
  const scheduler::Plan& plan = scheduler_.plan(begin_ns);
  if (plan.empty() && plan.again_ns != 0) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(plan.again_ns - begin_ns));
    return this->step(step);
  }
  if (plan.empty()) return false;
  const std::int64_t planned_ns = now_ns();
  executor_.execute(plan, result_);
  const std::int64_t executed_ns = now_ns();
  for (std::size_t i = 0; i < result_.outcomes.size(); ++i) {  // several of one sequence: guessed right
    DrivenChoice& choice = *by_sequence_.at(result_.outcomes[i].sequence);
    if (choice.said_all) continue;  // run on with its batch
    choice.tokens.push_back(result_.outcomes[i].token);
    choice.drawn.push_back(executor_.drawn()[i]);
  }
  step.sequences = plan.run.size();
  step.tokens = plan.tokens.size();
  step.drawn = result_.outcomes.size();
  step.only_decodes = std::all_of(plan.run.begin(), plan.run.end(), [](const scheduler::RunEntry& entry) {
    return entry.samples && entry.known_count() == 1;
  });
  take(scheduler_.commit(executed_ns, result_));
  step.plan_ns = planned_ns - begin_ns;
  step.execute_ns = executed_ns - planned_ns;
  step.commit_ns = now_ns() - executed_ns;
  return true;
}

void Drive::run() {
  DrivenStep step;
  while (this->step(step)) {
  }
}

}  // namespace paternoster::engine
