// The oracle: a model's forward pass in scalar float32, with obvious loops and no cache.
//
// It recomputes the whole text at every call, from weights dequantised as the file has them, and
// shares no code with the fast path (kernels/, forward.h) but the file reader. It is kept for ever:
// tests/evaluation measures the fast path against it. Slow on purpose wherever speed would cost
// clarity; threads only split rows, never a sum.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/thread_pool.h"
#include "model/model.h"

namespace paternoster::engine {

// Rows of equal width, one a token.
struct Rows {
  std::size_t count = 0;
  std::size_t width = 0;
  std::vector<float> values;

  Rows() = default;
  Rows(std::size_t rows, std::size_t columns) : count(rows), width(columns), values(rows * columns) {}
  float* row(std::size_t index) { return values.data() + index * width; }
  const float* row(std::size_t index) const { return values.data() + index * width; }
};

class ReferenceModel {
 public:
  // Both must outlive this object.
  ReferenceModel(const model::Model& model, ThreadPool& pool) : model_(model), pool_(pool) {}

  // The final normed hidden state of every token; tokens[0] stands at position 0. Every token must
  // lie inside the vocabulary.
  Rows hidden(std::span<const TokenId> tokens) const;

  // Logits for rows [begin, end) of what hidden() returned.
  Rows logits(const Rows& hidden, std::size_t begin, std::size_t end) const;

 private:
  Rows linear(const model::TensorView& weight, const Rows& in) const;
  void attend(std::size_t layer, const Rows& normed, Rows& stream) const;
  void feed_forward(std::size_t layer, Rows& stream) const;
  Rows mix(std::size_t layer, const Rows& query, const Rows& key, const Rows& value) const;

  const model::Model& model_;
  ThreadPool& pool_;
};

}  // namespace paternoster::engine
