#include "engine/forward.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/rope.h"
#include "kernels/vocabulary.h"

namespace paternoster::engine {
namespace {

constexpr std::size_t kRowGrain = 4;        // rows of a norm or gate that are worth a piece of work
constexpr std::size_t kAttentionRows = 16;  // queries of one sequence that share loaded keys
constexpr std::size_t kTasksPerThread = 4;  // pieces of attention that keep all threads equally busy
constexpr std::size_t kTileGrain = 4;       // 64 weight rows
constexpr std::size_t kGateGrain = 2;       // 64 rows of the gate and of the up matrix
constexpr std::size_t kVocabularyTiles = 32;  // 512 logits: their argmax is taken while in cache

}  // namespace

Forward::Forward(const PackedModel& model, KvCache& cache, ThreadPool& pool, std::size_t max_rows)
    : model_(model), cache_(cache), pool_(pool), angles_(model.ropes().size()) {
  const model::ModelConfig& config = model.config();
  stream_.resize(max_rows * config.embedding);
  if (config.post_norms) branch_.resize(max_rows * config.embedding);
  query_.resize(max_rows * config.query_width());
  key_.resize(max_rows * config.key_width());
  value_.resize(max_rows * config.value_width());
  gate_.resize(max_rows * config.feed_forward);
  up_.resize(max_rows * config.feed_forward);
  for (auto& angles : angles_) angles.resize(max_rows * config.rope.dimensions);
}

std::uint64_t Forward::scratch_bytes(const model::ModelConfig& config, std::size_t max_rows) {
  const std::uint64_t floats = std::uint64_t{config.embedding} * 4 + config.query_width() * 2 +
                               config.key_width() + config.value_width() +
                               std::uint64_t{config.feed_forward} * 4 + config.rope.dimensions * 2;
  return floats * sizeof(float) * max_rows +
         std::uint64_t{config.vocabulary} * sizeof(float) * std::min(max_rows, kMaxLogitRows);
}

template <typename Body>
void Forward::for_rows(Body&& body) {
  pool_.parallel(rows_, kRowGrain, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t row = begin; row < end; ++row) body(row);
  });
}

void Forward::run(const scheduler::Plan& plan) {
  if (profile_ != nullptr) profile_->begin();
  cache_.carry_out_copies(plan);
  prepare(plan);
  lap(Work::kPrepare);
  for (std::size_t layer = 0; layer < model_.layers().size(); ++layer) {
    attention_block(layer);
    feed_forward_block(layer);
  }
}

void Forward::prepare(const scheduler::Plan& plan) {
  const model::ModelConfig& config = model_.config();
  rows_ = plan.tokens.size();
  PATERNOSTER_CHECK(rows_ * config.embedding <= stream_.size());
  positions_.resize(rows_);
  block_.resize(rows_);
  tables_.resize(plan.blocks.size());
  for (std::size_t i = 0; i < tables_.size(); ++i) tables_[i] = plan.blocks[i].value;
  tasks_.clear();
  for (const scheduler::RunEntry& entry : plan.run) {
    const auto first = static_cast<std::uint32_t>(entry.first_position);
    for (std::uint32_t i = 0; i < entry.token_count; ++i) {
      positions_[entry.first_token + i] = first + i;
      block_[entry.first_token + i] =
          tables_[entry.first_block + (first + i) / kernels::kKvBlockPositions];
    }
    for (std::uint32_t i = 0; i < entry.token_count; i += kAttentionRows) {
      const auto count = std::min<std::uint32_t>(kAttentionRows, entry.token_count - i);
      tasks_.push_back({entry.first_token + i, first + i, count, entry.first_block});
    }
  }
  // Whole queries, unless that leaves threads idle.
  const bool few = tasks_.size() * config.kv_heads < kTasksPerThread * static_cast<std::size_t>(pool_.size());
  parts_ = 1;
  for (const AttentionTask& task : tasks_) {
    if (few) parts_ = std::max(parts_, kernels::attention_parts(task.position + task.count - 1));
  }
  normed_.resize(rows_, config.embedding);
  attended_.resize(rows_, config.attention_width());
  gated_.resize(rows_, config.feed_forward);
  for_rows([&](std::size_t row) {
    model_.embed(plan.tokens[row], stream_.data() + row * config.embedding);
    for (std::size_t i = 0; i < angles_.size(); ++i) {
      kernels::rope_angles(model_.ropes()[i], positions_[row],
                           angles_[i].data() + row * config.rope.dimensions);
    }
  });
}

void Forward::multiply(const kernels::Activations& in, std::span<const Linear> linears,
                       kernels::Store store) {
  std::size_t tiles = 0;
  for (const Linear& linear : linears) tiles += linear.weights->tiles();
  pool_.parallel(tiles, kTileGrain, [&](std::size_t begin, std::size_t end, int) {
    std::size_t first = 0;  // tile of this matrix in the row of all
    for (const Linear& linear : linears) {
      const std::size_t count = linear.weights->tiles();
      const std::size_t from = std::max(begin, first);
      const std::size_t to = std::min(end, first + count);
      if (from < to) {
        kernels::matmul(*linear.weights, in, {0, in.rows()}, {from - first, to - first}, linear.out,
                        linear.out_stride, store);
      }
      first += count;
    }
  });
}

void Forward::attention_block(std::size_t layer) {
  const model::ModelConfig& config = model_.config();
  const PackedLayer& weights = model_.layers()[layer];
  for_rows([&](std::size_t row) {
    kernels::rms_norm_quantise(stream_.data() + row * config.embedding, weights.attention_norm.data(),
                               config.norm_epsilon, normed_, row);
  });
  lap(Work::kNorm);
  const Linear linears[] = {{&weights.query, query_.data(), config.query_width()},
                            {&weights.key, key_.data(), config.key_width()},
                            {&weights.value, value_.data(), config.value_width()}};
  multiply(normed_, linears, kernels::Store::kAssign);
  lap(Work::kQueryKeyValue);
  for_rows([&](std::size_t row) { finish_keys_and_queries(layer, row); });
  lap(Work::kRope);
  attend(layer);
  lap(Work::kAttention);
  add_to_stream(weights.attention_output, attended_, weights.output_bias, weights.post_attention_norm);
  lap(Work::kAttentionOutput);
}

void Forward::finish_keys_and_queries(std::size_t layer, std::size_t row) {
  const model::ModelConfig& config = model_.config();
  const PackedLayer& weights = model_.layers()[layer];
  float* query = query_.data() + row * config.query_width();
  float* key = key_.data() + row * config.key_width();
  float* value = value_.data() + row * config.value_width();
  const auto add_bias = [](const std::vector<float>& bias, float* to) {
    if (!bias.empty()) kernels::add(bias.data(), bias.size(), to);
  };
  add_bias(weights.query_bias, query);
  add_bias(weights.key_bias, key);
  add_bias(weights.value_bias, value);
  const auto norm_heads = [&](const std::vector<float>& norm, std::size_t heads, float* values) {
    for (std::size_t head = 0; head < heads; ++head, values += config.head_dim_k) {
      kernels::rms_norm(values, norm.data(), config.norm_epsilon, config.head_dim_k, values);
    }
  };
  if (config.query_key_norm) {
    norm_heads(weights.query_norm, config.heads, query);
    norm_heads(weights.key_norm, config.kv_heads, key);
  }
  const std::size_t dims = config.rope.dimensions;
  const float* angles = angles_[weights.rope].data() + row * dims;
  kernels::rope(model_.rope_pairs(), angles, dims, config.heads, config.head_dim_k, query);
  kernels::rope(model_.rope_pairs(), angles, dims, config.kv_heads, config.head_dim_k, key);
  kernels::store_kv(shape_of(layer), cache_.pool(layer), block_[row],
                    positions_[row] % kernels::kKvBlockPositions, key, value);
}

kernels::AttentionShape Forward::shape_of(std::size_t layer) const {
  kernels::AttentionShape shape = model_.layers()[layer].shape;
  shape.type = cache_.type();
  return shape;
}

kernels::AttentionQueries Forward::queries_of(const AttentionTask& task) {
  const model::ModelConfig& config = model_.config();
  return {query_.data() + task.row * config.query_width(),
          config.query_width(),
          attended_.values(task.row),
          attended_.padded_cols(),
          tables_.data() + task.first_block,
          task.position,
          task.count};
}

void Forward::attend(std::size_t layer) {
  const kernels::AttentionShape shape = shape_of(layer);
  const std::size_t kv_heads = shape.kv_heads;
  if (parts_ > 1) {
    attend_in_parts(layer, shape);
  } else {
    pool_.parallel(tasks_.size() * kv_heads, 1, [&](std::size_t begin, std::size_t end, int) {
      for (std::size_t i = begin; i < end; ++i) {
        kernels::attention(shape, cache_.pool(layer), queries_of(tasks_[i / kv_heads]), i % kv_heads);
      }
    });
  }
  pool_.parallel(rows_, kRowGrain, [&](std::size_t begin, std::size_t end, int) {
    kernels::quantise(attended_, begin, end);
  });
}

// Few queries that see much: the threads share each one's positions.
void Forward::attend_in_parts(std::size_t layer, const kernels::AttentionShape& shape) {
  const std::size_t kv_heads = shape.kv_heads;
  const std::size_t floats = parts_ * kernels::attention_part_floats(shape, kAttentionRows);
  part_results_.resize(tasks_.size() * kv_heads * floats);
  const auto parts_of = [](const AttentionTask& task) {
    return kernels::attention_parts(task.position + task.count - 1);
  };
  pool_.parallel(tasks_.size() * kv_heads * parts_, 1, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t pair = i / parts_, part = i % parts_;
      const AttentionTask& task = tasks_[pair / kv_heads];
      if (part >= parts_of(task)) continue;
      kernels::attention_part(shape, cache_.pool(layer), queries_of(task), pair % kv_heads, part,
                              part_results_.data() + pair * floats);
    }
  });
  for (std::size_t pair = 0; pair < tasks_.size() * kv_heads; ++pair) {
    const AttentionTask& task = tasks_[pair / kv_heads];
    kernels::attention_merge(shape, queries_of(task), pair % kv_heads, parts_of(task),
                             part_results_.data() + pair * floats);
  }
}

void Forward::add_to_stream(const kernels::PackedMatrix& weights, const kernels::Activations& in,
                            const std::vector<float>& bias, const std::vector<float>& post_norm) {
  const std::size_t width = model_.config().embedding;
  if (bias.empty() && post_norm.empty()) {
    const Linear linear{&weights, stream_.data(), width};
    multiply(in, {&linear, 1}, kernels::Store::kAdd);
    return;
  }
  branch_.resize(std::max(branch_.size(), rows_ * width));
  const Linear linear{&weights, branch_.data(), width};
  multiply(in, {&linear, 1}, kernels::Store::kAssign);
  for_rows([&](std::size_t row) {
    float* branch = branch_.data() + row * width;
    if (!bias.empty()) kernels::add(bias.data(), width, branch);
    if (!post_norm.empty()) {
      kernels::rms_norm(branch, post_norm.data(), model_.config().norm_epsilon, width, branch);
    }
    kernels::add(branch, width, stream_.data() + row * width);
  });
}

void Forward::feed_forward_block(std::size_t layer) {
  const model::ModelConfig& config = model_.config();
  const PackedLayer& weights = model_.layers()[layer];
  for_rows([&](std::size_t row) {
    kernels::rms_norm_quantise(stream_.data() + row * config.embedding, weights.feed_forward_norm.data(),
                               config.norm_epsilon, normed_, row);
  });
  lap(Work::kNorm);
  const kernels::Gate gate =
      config.activation == model::Activation::kSilu ? kernels::Gate::kSilu : kernels::Gate::kGeluTanh;
  // Two tiles of the gate and two of the up matrix give the 32 products that are quantised together: whoever
  // has multiplied them goes on while they are in its cache, and nobody waits for the others in between.
  pool_.parallel(gated_.blocks(), kGateGrain, [&](std::size_t begin, std::size_t end, int) {
    const kernels::Range tiles{2 * begin, std::min(2 * end, weights.gate.tiles())};
    kernels::matmul(weights.gate, normed_, {0, rows_}, tiles, gate_.data(), config.feed_forward);
    kernels::matmul(weights.up, normed_, {0, rows_}, tiles, up_.data(), config.feed_forward);
    for (std::size_t row = 0; row < rows_; ++row) {
      kernels::gated_product_quantise(gate, gate_.data() + row * config.feed_forward,
                                      up_.data() + row * config.feed_forward, gated_, row, begin, end);
    }
  });
  lap(Work::kGateUp);
  add_to_stream(weights.down, gated_, {}, weights.post_feed_forward_norm);
  lap(Work::kDown);
}

void Forward::compute_logits(std::span<const std::uint32_t> rows) {
  const model::ModelConfig& config = model_.config();
  const kernels::PackedMatrix& output = model_.output();
  PATERNOSTER_CHECK(rows.size() <= kMaxLogitRows);
  final_.resize(rows.size(), config.embedding);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    PATERNOSTER_CHECK(rows[i] < rows_);
    kernels::rms_norm_quantise(stream_.data() + rows[i] * config.embedding, model_.output_norm().data(),
                               config.norm_epsilon, final_, i);
  }
  const std::size_t vocabulary = config.vocabulary;
  if (logits_.size() < rows.size() * vocabulary) logits_.resize(rows.size() * vocabulary);
  const std::size_t slices = (output.tiles() + kVocabularyTiles - 1) / kVocabularyTiles;
  slice_best_.resize(slices * rows.size());
  pool_.parallel(slices, 1, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t slice = begin; slice < end; ++slice) {
      const std::size_t first = slice * kVocabularyTiles;
      const std::size_t last = std::min(first + kVocabularyTiles, output.tiles());
      kernels::matmul(output, final_, {0, rows.size()}, {first, last}, logits_.data(), vocabulary);
      const std::size_t from = first * kernels::kTileRows;
      const std::size_t count = std::min(last * kernels::kTileRows, vocabulary) - from;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::span<const float> part(logits_.data() + i * vocabulary + from, count);
        slice_best_[slice * rows.size() + i] = static_cast<TokenId>(from) + kernels::argmax(part);
      }
    }
  });
  best_.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    best_[i] = slice_best_[i];
    for (std::size_t slice = 1; slice < slices; ++slice) {
      const TokenId candidate = slice_best_[slice * rows.size() + i];
      // The earlier slice wins ties, as the lowest index does inside a slice.
      if (logits(i)[static_cast<std::size_t>(candidate)] > logits(i)[static_cast<std::size_t>(best_[i])]) {
        best_[i] = candidate;
      }
    }
  }
  lap(Work::kVocabulary);
}

std::span<const float> Forward::logits(std::size_t index) const {
  const std::size_t vocabulary = model_.config().vocabulary;
  return {logits_.data() + index * vocabulary, vocabulary};
}

std::span<float> Forward::mutable_logits(std::size_t index) {
  const std::size_t vocabulary = model_.config().vocabulary;
  return {logits_.data() + index * vocabulary, vocabulary};
}

}  // namespace paternoster::engine
