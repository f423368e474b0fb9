// One step of the model: a flattened batch of tokens (prefill chunks and decode tokens together), and
// logits only for the rows that somebody reads.
//
// Bits: every row's result depends on its own tokens alone. Work is split over rows, weight rows and
// heads; a sum is never split. So neither the company in a batch nor chunking nor the number of
// threads can change an answer (src/engine/invariance_test.cc).
//
// Owned by one thread, which must be the owner of the pool.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/kv_cache.h"
#include "engine/packed_model.h"
#include "engine/step_profile.h"
#include "engine/thread_pool.h"
#include "kernels/activations.h"
#include "kernels/matmul.h"
#include "scheduler/plan.h"

namespace paternoster::engine {

class Forward {
 public:
  // All three must outlive this object. max_rows: tokens of the largest step.
  Forward(const PackedModel& model, KvCache& cache, ThreadPool& pool, std::size_t max_rows);

  // Computes the final hidden state of every token of the plan (row r is plan.tokens[r]) and stores
  // keys and values. The plan's copies are made first.
  void run(const scheduler::Plan& plan);

  // Logits of the given rows of the last run, at most kMaxLogitRows; valid until the next call.
  static constexpr std::size_t kMaxLogitRows = 64;
  void compute_logits(std::span<const std::uint32_t> rows);
  std::span<const float> logits(std::size_t index) const;
  std::span<float> mutable_logits(std::size_t index);
  TokenId best(std::size_t index) const { return best_[index]; }  // the argmax, found in passing

  // Where steps spend their time from now on is added to `profile`; null: nowhere.
  void set_profile(StepProfile* profile) { profile_ = profile; }

  // What one row of the largest step costs besides weights and cache; for sizing the cache.
  static std::uint64_t scratch_bytes(const model::ModelConfig& config, std::size_t max_rows);

 private:
  struct Linear {
    const kernels::PackedMatrix* weights;
    float* out;
    std::size_t out_stride;
  };
  // Some consecutive rows of one sequence, whose attention one thread computes.
  struct AttentionTask {
    std::uint32_t row;
    std::uint32_t position;
    std::uint32_t count;
    std::uint32_t first_block;
  };

  void lap(Work work) {
    if (profile_ != nullptr) profile_->lap(work);
  }
  void prepare(const scheduler::Plan& plan);
  void attention_block(std::size_t layer);
  void feed_forward_block(std::size_t layer);
  void finish_keys_and_queries(std::size_t layer, std::size_t row);
  void attend(std::size_t layer);
  void attend_in_parts(std::size_t layer, const kernels::AttentionShape& shape);
  kernels::AttentionShape shape_of(std::size_t layer) const;
  kernels::AttentionQueries queries_of(const AttentionTask& task);
  void multiply(const kernels::Activations& in, std::span<const Linear> linears, kernels::Store store);
  void add_to_stream(const kernels::PackedMatrix& weights, const kernels::Activations& in,
                     const std::vector<float>& bias, const std::vector<float>& post_norm);
  template <typename Body>
  void for_rows(Body&& body);

  const PackedModel& model_;
  KvCache& cache_;
  ThreadPool& pool_;
  StepProfile* profile_ = nullptr;
  std::size_t rows_ = 0;

  std::vector<std::uint32_t> positions_;  // of each row
  std::vector<std::uint32_t> block_;      // where each row's keys and values go
  std::vector<std::uint32_t> tables_;     // the plan's block tables as the kernel wants them
  std::vector<AttentionTask> tasks_;
  std::size_t parts_ = 1;                 // of 1,024 positions that the threads share; 1: none
  std::vector<float> part_results_;

  std::vector<float> stream_;             // rows x embedding: the residual
  std::vector<float> branch_;             // rows x embedding: before a post norm
  std::vector<float> query_, key_, value_;
  std::vector<float> gate_, up_;
  std::vector<std::vector<float>> angles_;  // one a rope: rows x dimensions
  kernels::Activations normed_;
  kernels::Activations attended_;
  kernels::Activations gated_;
  kernels::Activations final_;
  std::vector<float> logits_;
  std::vector<TokenId> best_;
  std::vector<TokenId> slice_best_;  // slices of the vocabulary x rows
};

}  // namespace paternoster::engine
