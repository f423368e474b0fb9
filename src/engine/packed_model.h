// A model's weights as the fast path reads them: matrices in kernel format, vectors as floats, rope
// frequencies ready. Made once at load, in parallel over all rows of all matrices; read-only after.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/thread_pool.h"
#include "kernels/aligned_buffer.h"
#include "kernels/attention.h"
#include "kernels/packed_matrix.h"
#include "kernels/rope.h"
#include "model/model.h"

namespace paternoster::engine {

struct PackedLayer {
  std::vector<float> attention_norm;
  kernels::PackedMatrix query;
  kernels::PackedMatrix key;
  kernels::PackedMatrix value;
  std::vector<float> query_bias;  // each empty when the model has none
  std::vector<float> key_bias;
  std::vector<float> value_bias;
  std::vector<float> query_norm;
  std::vector<float> key_norm;
  kernels::PackedMatrix attention_output;
  std::vector<float> output_bias;
  std::vector<float> post_attention_norm;
  std::vector<float> feed_forward_norm;
  kernels::PackedMatrix gate;
  kernels::PackedMatrix up;
  kernels::PackedMatrix down;
  std::vector<float> post_feed_forward_norm;
  kernels::AttentionShape shape;
  std::size_t rope = 0;  // index into PackedModel::ropes
};

class PackedModel {
 public:
  // `model` must outlive the result: token embeddings that are not tied are read from the file.
  static Result<PackedModel> pack(const model::Model& model, ThreadPool& pool);

  const model::ModelConfig& config() const { return model_->config; }
  const std::vector<PackedLayer>& layers() const { return layers_; }
  // How keys and values of every layer lie in a cache of this element type (only windows differ).
  kernels::AttentionShape kv_shape(kernels::KvType type) const {
    kernels::AttentionShape shape = layers_.front().shape;
    shape.type = type;
    return shape;
  }
  const std::vector<float>& output_norm() const { return output_norm_; }
  const kernels::PackedMatrix& output() const { return output_; }
  // One or two: layers that see everything and layers with a window may turn differently.
  const std::vector<kernels::RopeFrequencies>& ropes() const { return ropes_; }
  kernels::RopePairs rope_pairs() const;

  // The embedding of a token that lies inside the vocabulary, scaled as the model wants it.
  void embed(TokenId token, float* out) const;

  std::uint64_t bytes() const;  // of all matrices

 private:
  Result<void> pack_matrices(ThreadPool& pool);
  void read_vectors();
  void prepare_ropes();

  const model::Model* model_ = nullptr;
  kernels::AlignedBuffer memory_;  // of all matrices, in the order in which a step reads them
  std::vector<PackedLayer> layers_;
  std::vector<float> output_norm_;
  kernels::PackedMatrix output_;
  std::vector<kernels::RopeFrequencies> ropes_;
};

}  // namespace paternoster::engine
