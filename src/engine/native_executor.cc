#include "engine/native_executor.h"

#include <algorithm>

#include "base/check.h"

namespace paternoster::engine {

NativeExecutor::NativeExecutor(const PackedModel& model, KvCache& cache, ThreadPool& pool,
                               std::size_t max_rows)
    : forward_(model, cache, pool, max_rows),
      pool_(pool),
      samplers_(static_cast<std::size_t>(pool.size())) {}

void NativeExecutor::add(SequenceId sequence, std::int32_t choice,
                         std::shared_ptr<RequestNumbers> request) {
  Sequence added{choice, std::move(request), nullptr};
  if (added.request->params.has_penalties()) {
    added.counts = std::make_unique<TokenCounts>();
    added.counts->add_prompt(added.request->prompt);
  }
  if (added.request->score_prompt) added.request->prompt_scores.resize(added.request->prompt.size() - 1);
  sequences_.insert_or_assign(sequence, std::move(added));
}

void NativeExecutor::remove(SequenceId sequence) { sequences_.erase(sequence); }

void NativeExecutor::list_readings(const scheduler::Plan& plan, scheduler::StepResult& result) {
  readings_.clear();
  result.outcomes.clear();
  drawn_count_ = 0;
  if (drawn_.size() < plan.run.size()) drawn_.resize(plan.run.size());
  for (const scheduler::RunEntry& entry : plan.run) {
    const auto found = sequences_.find(entry.sequence);
    PATERNOSTER_CHECK(found != sequences_.end());
    Sequence& sequence = found->second;
    RequestNumbers& request = *sequence.request;
    if (request.score_prompt) {
      const auto prompt = static_cast<std::int32_t>(request.prompt.size());
      for (std::uint32_t i = 0; i < entry.token_count; ++i) {
        const std::int32_t next = entry.first_position + static_cast<std::int32_t>(i) + 1;
        if (next >= prompt) break;
        Drawn& score = request.prompt_scores[static_cast<std::size_t>(next) - 1];
        if (score.token < 0) readings_.push_back({entry.first_token + i, &sequence, next, &score, false});
      }
    }
    if (!entry.samples) continue;
    result.outcomes.push_back({entry.sequence, -1, false});
    readings_.push_back({entry.first_token + entry.token_count - 1, &sequence,
                         entry.first_position + static_cast<std::int32_t>(entry.token_count),
                         &drawn_[drawn_count_++], true});
  }
}

void NativeExecutor::read(const Reading& reading, std::size_t index, Sampler& sampler) {
  RequestNumbers& request = *reading.sequence->request;
  if (!reading.draws) {
    const TokenId token = request.prompt[static_cast<std::size_t>(reading.position)];
    sampler.score(forward_.logits(index), token, request.prompt_top, *reading.to);
    reading.to->token = token;
    return;
  }
  const DrawPoint point{reading.sequence->choice, reading.position,
                        reading.position - static_cast<std::int32_t>(request.prompt.size())};
  sampler.draw(request.params, point, reading.sequence->counts.get(), forward_.mutable_logits(index),
               forward_.best(index), *reading.to);
  if (reading.sequence->counts) reading.sequence->counts->add_output(reading.to->token);
}

void NativeExecutor::execute(const scheduler::Plan& plan, scheduler::StepResult& result) {
  forward_.run(plan);
  list_readings(plan, result);
  for (std::size_t begin = 0; begin < readings_.size(); begin += Forward::kMaxLogitRows) {
    const std::size_t count = std::min(Forward::kMaxLogitRows, readings_.size() - begin);
    rows_.clear();
    for (std::size_t i = 0; i < count; ++i) rows_.push_back(readings_[begin + i].row);
    forward_.compute_logits(rows_);
    pool_.parallel(count, 1, [&](std::size_t from, std::size_t to, int thread) {
      for (std::size_t i = from; i < to; ++i) {
        read(readings_[begin + i], i, samplers_[static_cast<std::size_t>(thread)]);
      }
    });
    if (profile_ != nullptr) profile_->lap(Work::kDraw);
  }
  for (std::size_t i = 0, outcome = 0; i < readings_.size(); ++i) {
    if (!readings_[i].draws) continue;
    const SamplingParams& params = readings_[i].sequence->request->params;
    scheduler::Outcome& to = result.outcomes[outcome++];
    to.token = readings_[i].to->token;
    to.stop = std::find(params.ends.begin(), params.ends.end(), to.token) != params.ends.end();
  }
}

}  // namespace paternoster::engine
