#include "engine/native_executor.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace paternoster::engine {

NativeExecutor::NativeExecutor(const PackedModel& model, KvCache& cache, ThreadPool& pool,
                               std::size_t max_rows)
    : forward_(model, cache, pool, max_rows),
      bytes_a_block_(cache.bytes_a_block()),
      pool_(pool),
      samplers_(static_cast<std::size_t>(pool.size())) {}

void NativeExecutor::add(SequenceId sequence, std::int32_t choice,
                         std::shared_ptr<RequestNumbers> request) {
  Sequence added{choice, std::move(request), nullptr};
  if (added.request->params.has_penalties()) {
    added.counts = std::make_unique<TokenCounts>();
    added.counts->add_prompt(added.request->prompt);
    for (const TokenId token : added.request->said) added.counts->add_output(token);
  }
  if (added.request->score_prompt) added.request->prompt_scores.resize(added.request->prompt.size() - 1);
  sequences_.insert_or_assign(sequence, std::move(added));
}

void NativeExecutor::remove(SequenceId sequence) { sequences_.erase(sequence); }

void NativeExecutor::list_readings(const scheduler::Plan& plan) {
  readings_.clear();
  groups_.clear();
  drawn_count_ = 0;
  std::size_t most = 0;
  for (const scheduler::RunEntry& entry : plan.run) most += 1 + entry.drafted;
  if (drawn_.size() < most) drawn_.resize(most);
  for (const scheduler::RunEntry& entry : plan.run) {
    const auto found = sequences_.find(entry.sequence);
    PATERNOSTER_CHECK(found != sequences_.end());
    if (found->second.request->score_prompt) list_scores(entry, found->second);
    if (entry.samples) list_draws(plan, entry, found->second);
  }
}

void NativeExecutor::list_scores(const scheduler::RunEntry& entry, Sequence& sequence) {
  RequestNumbers& request = *sequence.request;
  const auto prompt = static_cast<std::int32_t>(request.prompt.size());
  for (std::uint32_t i = 0; i < entry.token_count; ++i) {
    const std::int32_t next = entry.first_position + static_cast<std::int32_t>(i) + 1;
    if (next >= prompt) break;
    Drawn& score = request.prompt_scores[static_cast<std::size_t>(next) - 1];
    if (score.token >= 0) continue;
    groups_.push_back({entry.sequence, readings_.size(), 1, {}});
    readings_.push_back({entry.first_token + i, &sequence, next, &score, false});
  }
}

void NativeExecutor::list_draws(const scheduler::Plan& plan, const scheduler::RunEntry& entry,
                                Sequence& sequence) {
  PATERNOSTER_CHECK(entry.drafted < Forward::kMaxLogitRows);
  groups_.push_back({entry.sequence, readings_.size(), 1 + std::size_t{entry.drafted},
                     plan.tokens_of(entry).last(entry.drafted)});
  for (std::uint32_t at = entry.known_count(); at <= entry.token_count; ++at) {
    readings_.push_back({entry.first_token + at - 1, &sequence, entry.first_position + static_cast<std::int32_t>(at),
                         &drawn_[drawn_count_++], true});
  }
}

// Where the groups end, from `first` on, whose logits are computed together.
std::size_t NativeExecutor::groups_that_fit(std::size_t first) const {
  std::size_t rows = 0;
  std::size_t end = first;
  while (end < groups_.size() && rows + groups_[end].count <= Forward::kMaxLogitRows) rows += groups_[end++].count;
  return end;
}

void NativeExecutor::score(const Reading& reading, std::size_t index, Sampler& sampler) {
  const RequestNumbers& request = *reading.sequence->request;
  const TokenId token = request.prompt[static_cast<std::size_t>(reading.position)];
  sampler.score(forward_.logits(index), token, request.prompt_top, *reading.to);
  reading.to->token = token;
}

// False if the sequence ends with the token.
bool NativeExecutor::draw(const Reading& reading, std::size_t index, Sampler& sampler) {
  const RequestNumbers& request = *reading.sequence->request;
  const DrawPoint point{reading.sequence->choice, reading.position,
                        reading.position - static_cast<std::int32_t>(request.prompt.size())};
  sampler.draw(request.params, point, reading.sequence->counts.get(), forward_.mutable_logits(index),
               forward_.best(index), *reading.to);
  if (reading.sequence->counts) reading.sequence->counts->add_output(reading.to->token);
  return !request.params.ends_with(reading.to->token);
}

void NativeExecutor::read(Group& group, std::size_t first_row, Sampler& sampler) {
  if (!readings_[group.first].draws) {
    score(readings_[group.first], first_row, sampler);
    return;
  }
  for (;; ++group.drawn) {
    const Reading& reading = readings_[group.first + group.drawn];
    const bool goes_on = draw(reading, first_row + group.drawn, sampler);
    const bool guessed = group.drawn < group.guesses.size() && reading.to->token == group.guesses[group.drawn];
    if (!goes_on || !guessed) break;
  }
  ++group.drawn;
}

// Outcomes of what counts, and drawn_ in their order.
void NativeExecutor::tell(scheduler::StepResult& result) {
  drawn_count_ = 0;
  result.outcomes.clear();
  for (const Group& group : groups_) {
    for (std::size_t at = 0; at < group.drawn; ++at) {
      const Reading& reading = readings_[group.first + at];
      Drawn& to = drawn_[drawn_count_++];
      if (&to != reading.to) to = std::move(*reading.to);
      result.outcomes.push_back({group.sequence, to.token, reading.sequence->request->params.ends_with(to.token)});
    }
  }
}

void NativeExecutor::execute(const scheduler::Plan& plan, scheduler::StepResult& result) {
  forward_.run(plan);
  list_readings(plan);
  for (std::size_t begin = 0; begin < groups_.size();) {
    const std::size_t end = groups_that_fit(begin);
    const std::size_t first = groups_[begin].first;
    rows_.clear();
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t at = 0; at < groups_[i].count; ++at) rows_.push_back(readings_[groups_[i].first + at].row);
    }
    forward_.compute_logits(rows_);
    pool_.parallel(end - begin, 1, [&](std::size_t from, std::size_t to, int thread) {
      for (std::size_t i = begin + from; i < begin + to; ++i) {
        read(groups_[i], groups_[i].first - first, samplers_[static_cast<std::size_t>(thread)]);
      }
    });
    if (profile_ != nullptr) profile_->lap(Work::kDraw);
    begin = end;
  }
  tell(result);
}

}  // namespace paternoster::engine
