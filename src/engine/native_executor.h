// Carries out plans with the real model: forward pass, then a draw for every entry that samples.
//
// Where an entry brings guesses, their rows are drawn one after another, each with the state that the
// draws before it left: the same counted random numbers, penalties and limits as if every token had had a
// step of its own. The first draw that is not what was guessed is the entry's last. A row's bits do not
// depend on its company (forward.h), so what is drawn, and how likely it was, is equal to the bit.
//
// An executor in the sense of scheduler/executor.h. It knows numbers only; text, streams and stop
// strings are its driver's business (native_backend.h). Every sequence of a plan must have been added
// and not yet removed. Owned by one thread, the owner of the pool.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/forward.h"
#include "engine/sampler.h"
#include "scheduler/executor.h"
#include "scheduler/plan.h"

namespace paternoster::engine {

// What all choices of one request share.
struct RequestNumbers {
  SamplingParams params;
  std::vector<TokenId> prompt;
  std::vector<TokenId> said;  // of the answer, in slices before this one (slice_loop.h)
  // With prompt log-probabilities: entry p - 1 says how likely token p of the prompt was, and which
  // were the most likely in its place. Filled while the prompt is computed.
  bool score_prompt = false;
  std::int32_t prompt_top = 0;
  std::vector<Drawn> prompt_scores;
};

class NativeExecutor {
 public:
  NativeExecutor(const PackedModel& model, KvCache& cache, ThreadPool& pool, std::size_t max_rows);

  void add(SequenceId sequence, std::int32_t choice, std::shared_ptr<RequestNumbers> request);
  void remove(SequenceId sequence);

  // Fills result.outcomes: stop is set when an end token was drawn that ends the sequence.
  void execute(const scheduler::Plan& plan, scheduler::StepResult& result);

  std::uint64_t bytes_a_block() const { return bytes_a_block_; }  // of KV, over all layers

  void set_profile(StepProfile* profile) {
    profile_ = profile;
    forward_.set_profile(profile);
  }

  // What was drawn in the last step, in the order of its outcomes.
  std::span<const Drawn> drawn() const { return {drawn_.data(), drawn_count_}; }

 private:
  struct Sequence {
    std::int32_t choice = 0;
    std::shared_ptr<RequestNumbers> request;
    std::unique_ptr<TokenCounts> counts;  // with penalties only
  };
  // A row whose logits are read: to draw a token, or to score the prompt token that follows it.
  struct Reading {
    std::uint32_t row;
    Sequence* sequence;
    std::int32_t position;  // of the token that is drawn or scored
    Drawn* to;
    bool draws;
  };
  // Readings that follow from one another: an entry's draws, or one score.
  struct Group {
    SequenceId sequence;
    std::size_t first;  // of readings_
    std::size_t count;
    std::span<const TokenId> guesses;  // what the draws but the last must be for the next to count
    std::size_t drawn = 0;
  };

  void list_readings(const scheduler::Plan& plan);
  void list_scores(const scheduler::RunEntry& entry, Sequence& sequence);
  void list_draws(const scheduler::Plan& plan, const scheduler::RunEntry& entry, Sequence& sequence);
  std::size_t groups_that_fit(std::size_t first) const;
  void read(Group& group, std::size_t first_row, Sampler& sampler);
  void score(const Reading& reading, std::size_t index, Sampler& sampler);
  bool draw(const Reading& reading, std::size_t index, Sampler& sampler);
  void tell(scheduler::StepResult& result);

  Forward forward_;
  std::uint64_t bytes_a_block_;
  StepProfile* profile_ = nullptr;
  ThreadPool& pool_;
  std::unordered_map<SequenceId, Sequence> sequences_;
  std::vector<Sampler> samplers_;  // one a thread
  std::vector<Reading> readings_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> rows_;
  std::vector<Drawn> drawn_;
  std::size_t drawn_count_ = 0;
};

}  // namespace paternoster::engine
