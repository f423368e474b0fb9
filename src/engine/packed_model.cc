#include "engine/packed_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/elementwise.h"
#include "model/dequantize.h"

namespace paternoster::engine {
namespace {

using kernels::PackedMatrix;
using model::TensorView;

struct PackJob {
  const TensorView* from;
  PackedMatrix* to;
  std::size_t first_tile;  // in the row of all jobs
};

// Queues every matrix; run() gives them their places, one after the other, and packs them.
class PackJobs {
 public:
  Result<void> add(const TensorView& view, PackedMatrix& matrix) {
    auto created = PackedMatrix::describe(static_cast<kernels::TensorType>(view.type), view.rows, view.columns);
    if (!created) {
      return failure(created.error().code,
                     fmt::format("tensor '{}': {}", view.name, created.error().message));
    }
    matrix = std::move(*created);
    jobs_.push_back({&view, &matrix, tiles_});
    tiles_ += matrix.tiles();
    bytes_ += matrix.bytes();  // a multiple of 64, as tiles are
    return {};
  }

  std::uint64_t bytes() const { return bytes_; }

  void run(std::byte* memory, ThreadPool& pool) {
    for (const PackJob& job : jobs_) {
      job.to->place(memory);
      memory += job.to->bytes();
    }
    pool.parallel(tiles_, 8, [&](std::size_t begin, std::size_t end, int) {
      auto job = std::upper_bound(jobs_.begin(), jobs_.end(), begin,
                                  [](std::size_t tile, const PackJob& j) { return tile < j.first_tile; });
      for (--job; job != jobs_.end() && job->first_tile < end; ++job) {
        const std::size_t from = std::max(begin, job->first_tile) - job->first_tile;
        const std::size_t to = std::min(end - job->first_tile, job->to->tiles());
        if (from < to) job->to->pack_tiles(job->from->bytes, from, to);
      }
    });
  }

 private:
  std::vector<PackJob> jobs_;
  std::size_t tiles_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Result<PackedModel> PackedModel::pack(const model::Model& model, ThreadPool& pool) {
  const model::ModelConfig& config = model.config;
  PackedModel packed;
  packed.model_ = &model;
  packed.layers_.resize(config.layers);
  for (std::uint32_t layer = 0; layer < config.layers; ++layer) {
    const bool sliding = config.is_sliding(layer);
    packed.layers_[layer].shape = {config.heads, config.kv_heads, config.head_dim_k,
                                   sliding ? config.sliding_window : 0, config.query_scale};
    packed.layers_[layer].rope = sliding ? 1 : 0;
  }
  if (config.head_dim_k != config.head_dim_v || !kernels::is_supported(packed.layers_[0].shape)) {
    return failure(ErrorCode::kUnsupported,
                   fmt::format("attention with {} heads over {} of {} and {} dimensions is not supported: the "
                               "dimensions must be equal, a multiple of 16 and at most {}",
                               config.heads, config.kv_heads, config.head_dim_k, config.head_dim_v,
                               kernels::kMaxHeadDim));
  }
  packed.read_vectors();
  packed.prepare_ropes();
  if (auto done = packed.pack_matrices(pool); !done) return std::unexpected(done.error());
  return packed;
}

Result<void> PackedModel::pack_matrices(ThreadPool& pool) {
  PackJobs jobs;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    const model::LayerWeights& from = model_->weights.layers[layer];
    PackedLayer& to = layers_[layer];
    const std::pair<const TensorView*, PackedMatrix*> pairs[] = {
        {&from.query, &to.query}, {&from.key, &to.key},   {&from.value, &to.value},
        {&from.attention_output, &to.attention_output},   {&from.gate, &to.gate},
        {&from.up, &to.up},       {&from.down, &to.down},
    };
    for (const auto& [view, matrix] : pairs) {
      if (auto done = jobs.add(*view, *matrix); !done) return done;
    }
  }
  if (auto done = jobs.add(model_->weights.output, output_); !done) return done;
  memory_ = kernels::AlignedBuffer(jobs.bytes());
  jobs.run(memory_.data(), pool);
  return {};
}

void PackedModel::read_vectors() {
  output_norm_ = model::vector_of(model_->weights.output_norm);
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    const model::LayerWeights& from = model_->weights.layers[layer];
    PackedLayer& to = layers_[layer];
    to.attention_norm = model::vector_of(from.attention_norm);
    to.query_bias = model::vector_of(from.query_bias);
    to.key_bias = model::vector_of(from.key_bias);
    to.value_bias = model::vector_of(from.value_bias);
    to.query_norm = model::vector_of(from.query_norm);
    to.key_norm = model::vector_of(from.key_norm);
    to.output_bias = model::vector_of(from.output_bias);
    to.post_attention_norm = model::vector_of(from.post_attention_norm);
    to.feed_forward_norm = model::vector_of(from.feed_forward_norm);
    to.post_feed_forward_norm = model::vector_of(from.post_feed_forward_norm);
  }
}

void PackedModel::prepare_ropes() {
  const model::ModelConfig& config = model_->config;
  const std::vector<float> factors = model::vector_of(model_->weights.rope_factors);
  const auto add = [&](std::uint32_t layer) {
    kernels::RopeScaling scaling;
    const model::RopeScaling kind = config.rope_scaling(layer);
    if (kind != model::RopeScaling::kNone) scaling.linear_factor = config.rope.factor;
    if (kind == model::RopeScaling::kYarn) {
      scaling.yarn = true;
      scaling.yarn_original_context = config.rope.original_context_length;
      scaling.yarn_extrapolation = config.rope.extrapolation_factor;
      scaling.yarn_beta_fast = config.rope.beta_fast;
      scaling.yarn_beta_slow = config.rope.beta_slow;
      scaling.attention_factor = config.rope.attention_factor;
    }
    if (!config.is_sliding(layer)) scaling.factors = factors;
    ropes_.push_back(kernels::rope_frequencies(config.rope.dimensions, config.rope_base(layer), scaling));
  };
  const auto& sliding = config.layer_is_sliding;
  const auto index_of = [&](bool value) {
    return static_cast<std::uint32_t>(std::find(sliding.begin(), sliding.end(), value) - sliding.begin());
  };
  // Index 0 is for layers that see everything, 1 for the others; either stands in for a missing one.
  const std::uint32_t global = index_of(false);
  const std::uint32_t local = index_of(true);
  add(global < config.layers ? global : local);
  if (local < config.layers) add(local);
}

kernels::RopePairs PackedModel::rope_pairs() const {
  return config().rope.style == model::RopeStyle::kHalves ? kernels::RopePairs::kHalves
                                                          : kernels::RopePairs::kAdjacent;
}

void PackedModel::embed(TokenId token, float* out) const {
  const std::uint64_t row = static_cast<std::uint64_t>(token);
  if (config().tied_output) {
    kernels::dequantise_row(output_, row, out);
  } else {
    const TensorView& table = model_->weights.token_embedding;
    model::dequantize(table.type, table.row(row), std::span(out, config().embedding));
  }
  if (config().embedding_scale != 1.0f) kernels::scale(config().embedding_scale, config().embedding, out);
}

std::uint64_t PackedModel::bytes() const {
  std::uint64_t total = output_.bytes();
  for (const PackedLayer& layer : layers_) {
    total += layer.query.bytes() + layer.key.bytes() + layer.value.bytes() +
             layer.attention_output.bytes() + layer.gate.bytes() + layer.up.bytes() + layer.down.bytes();
  }
  return total;
}

}  // namespace paternoster::engine
