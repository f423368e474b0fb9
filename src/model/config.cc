#include "model/config.h"

#include <cmath>
#include <optional>
#include <string>

#include "model/gguf.h"
#include "model/metadata_reader.h"

namespace paternoster::model {
namespace {

// Bounds far above any model known; they keep products of three far from wrapping.
constexpr std::uint32_t kMaximumLayers = 1024;
constexpr std::uint32_t kMaximumEmbedding = 1u << 18;
constexpr std::uint32_t kMaximumHeads = 4096;
constexpr std::uint32_t kMaximumHeadDimension = 4096;
constexpr std::uint32_t kMaximumFeedForward = 1u << 21;
constexpr std::uint32_t kMaximumVocabulary = 1u << 22;
constexpr std::uint32_t kMaximumContext = 1u << 30;

constexpr float kSmallestEpsilon = 1e-20f;
constexpr float kLargestRopeBase = 1e15f;

// What gemma3 files do not say (the converter leaves out what was constant when it was written).
constexpr std::uint32_t kGemma3SlidingPattern = 6;  // every sixth layer sees everything
constexpr float kGemma3LocalRopeBase = 10000.0f;
constexpr std::uint32_t kGemma3LargestLayers = 62;  // the 27B model scales queries in its own way

// Keys that change the mathematics in ways no supported architecture has.
constexpr std::string_view kRefusedKeys[] = {
    "attention.clamp_kqv",  "attn_logit_softcapping", "final_logit_softcapping",
    "logit_scale",          "residual_scale",         "embedding_scale",
    "attention.max_alibi_bias", "rope.dimension_sections", "attention.key_length_mla",
};

class ConfigReader {
 public:
  explicit ConfigReader(const GgufFile& file) : reader_(file) {}

  Result<ModelConfig> read() {
    read_architecture();
    if (!reader_.failed()) read_sizes();
    if (!reader_.failed()) read_attention();
    if (!reader_.failed()) read_rope();
    if (!reader_.failed()) read_sliding_window();
    if (!reader_.failed()) read_choices();
    if (!reader_.failed()) refuse_other_mathematics();
    if (reader_.failed()) return std::unexpected(*reader_.error());
    return config_;
  }

 private:
  std::string key(std::string_view name) const { return prefix_ + std::string(name); }

  void read_architecture();
  void read_sizes();
  void read_attention();
  void read_rope();
  void read_rope_scaling();
  void read_yarn();
  void read_sliding_window();
  void read_choices();
  void refuse_other_mathematics();

  std::uint32_t same_in_every_layer(std::string_view name, std::uint32_t largest,
                                    std::optional<std::uint32_t> absent);
  std::uint32_t vocabulary();
  bool has_tensor(std::string_view tensor) const {
    return reader_.file().find_tensor(tensor) != nullptr;
  }

  MetadataReader reader_;
  std::string prefix_;
  ModelConfig config_;
};

void ConfigReader::read_architecture() {
  const std::string_view found = reader_.string("general.architecture");
  for (const Architecture one : {Architecture::kLlama, Architecture::kQwen2, Architecture::kQwen3,
                                 Architecture::kGemma3}) {
    if (found != name(one)) continue;
    config_.architecture = one;
    prefix_ = std::string(found) + ".";
    return;
  }
  if (found.empty()) {
    reader_.fail_key("general.architecture", "is missing");
  } else {
    reader_.fail_key("general.architecture",
                     quoted_name(found) + " is not supported; llama, qwen2, qwen3 and gemma3 are",
                     ErrorCode::kUnsupported);
  }
}

// A count that may be stored as one number or as one number a layer; layers that differ are
// refused.
std::uint32_t ConfigReader::same_in_every_layer(std::string_view field, std::uint32_t largest,
                                                std::optional<std::uint32_t> absent) {
  const std::string name = key(field);
  const MetadataEntry* entry = reader_.file().find(name);
  if (entry == nullptr && absent) return *absent;
  if (entry == nullptr || entry->type != ValueType::kArray) {
    return reader_.required_count(name, 1, largest);
  }
  const auto values = reader_.take(reader_.file().int32s(name));
  if (!values) return 1;
  if (values->size() != config_.layers) {
    reader_.fail_key(name, "has " + std::to_string(values->size()) + " entries for " +
                               std::to_string(config_.layers) + " layers");
    return 1;
  }
  const std::int32_t first = (*values)[0];
  for (std::size_t layer = 1; layer < values->size(); ++layer) {
    if ((*values)[layer] == first) continue;
    reader_.fail_key(name, "layers that differ are not supported", ErrorCode::kUnsupported);
    return 1;
  }
  if (first < 1 || static_cast<std::uint32_t>(first) > largest) {
    reader_.fail_key(name, std::to_string(first) + " is not from 1 to " + std::to_string(largest));
    return 1;
  }
  return static_cast<std::uint32_t>(first);
}

std::uint32_t ConfigReader::vocabulary() {
  const MetadataEntry* tokens = reader_.file().find("tokenizer.ggml.tokens");
  if (tokens == nullptr || tokens->type != ValueType::kArray) {
    return reader_.required_count(key("vocab_size"), 1, kMaximumVocabulary);
  }
  if (tokens->count < 1 || tokens->count > kMaximumVocabulary) {
    reader_.fail_key("tokenizer.ggml.tokens",
                     std::to_string(tokens->count) + " tokens are not from 1 to " +
                         std::to_string(kMaximumVocabulary));
    return 1;
  }
  return static_cast<std::uint32_t>(tokens->count);
}

void ConfigReader::read_sizes() {
  config_.layers = reader_.required_count(key("block_count"), 1, kMaximumLayers);
  config_.embedding = reader_.required_count(key("embedding_length"), 1, kMaximumEmbedding);
  config_.context_length = reader_.required_count(key("context_length"), 1, kMaximumContext);
  config_.feed_forward =
      same_in_every_layer("feed_forward_length", kMaximumFeedForward, std::nullopt);
  config_.vocabulary = vocabulary();
  const std::string epsilon = key("attention.layer_norm_rms_epsilon");
  const auto value = reader_.number(epsilon, kSmallestEpsilon, 1.0f);
  if (!value) reader_.fail_key(epsilon, "is missing");
  config_.norm_epsilon = value.value_or(1.0f);
}

void ConfigReader::read_attention() {
  config_.heads = same_in_every_layer("attention.head_count", kMaximumHeads, std::nullopt);
  config_.kv_heads =
      same_in_every_layer("attention.head_count_kv", kMaximumHeads, config_.heads);
  if (config_.heads % config_.kv_heads != 0) {
    reader_.fail_key(key("attention.head_count_kv"),
                     std::to_string(config_.heads) + " heads do not divide among " +
                         std::to_string(config_.kv_heads) + " key-value heads");
    return;
  }
  const auto key_length = reader_.count(key("attention.key_length"), 2, kMaximumHeadDimension);
  const auto value_length = reader_.count(key("attention.value_length"), 1, kMaximumHeadDimension);
  const std::uint32_t derived = config_.embedding / config_.heads;
  const bool derivable = config_.embedding % config_.heads == 0 && derived >= 2 &&
                         derived <= kMaximumHeadDimension;
  if ((!key_length || !value_length) && !derivable) {
    reader_.fail_key(key("attention.head_count"),
                     std::to_string(config_.embedding) + " embedding elements do not divide into " +
                         std::to_string(config_.heads) + " heads");
    return;
  }
  config_.head_dim_k = key_length.value_or(derived);
  config_.head_dim_v = value_length.value_or(derived);
  const bool largest_gemma = config_.architecture == Architecture::kGemma3 &&
                             config_.layers == kGemma3LargestLayers;
  const auto width = static_cast<float>(config_.head_dim_k);
  const auto share = static_cast<float>(config_.embedding) / static_cast<float>(config_.heads);
  config_.query_scale = 1.0f / std::sqrt(largest_gemma ? share : width);
  if (const auto scale = reader_.number(key("attention.scale"), 0.0f, 1e6f); scale && *scale > 0) {
    config_.query_scale = *scale;
  }
}

void ConfigReader::read_rope() {
  RopeConfig& rope = config_.rope;
  rope.style = config_.architecture == Architecture::kLlama ? RopeStyle::kInterleaved
                                                            : RopeStyle::kHalves;
  const std::string dimensions = key("rope.dimension_count");
  rope.dimensions =
      reader_.count(dimensions, 2, config_.head_dim_k).value_or(config_.head_dim_k);
  if (rope.dimensions % 2 != 0) {
    reader_.fail_key(dimensions, std::to_string(rope.dimensions) + " is odd; RoPE turns pairs");
  }
  rope.base = reader_.number(key("rope.freq_base"), 1.0f, kLargestRopeBase).value_or(10000.0f);
  const float local =
      config_.architecture == Architecture::kGemma3 ? kGemma3LocalRopeBase : rope.base;
  rope.local_base =
      reader_.number(key("rope.freq_base_swa"), 1.0f, kLargestRopeBase).value_or(local);
  read_rope_scaling();
}

void ConfigReader::read_rope_scaling() {
  RopeConfig& rope = config_.rope;
  const std::string type_key = key("rope.scaling.type");
  const auto type = reader_.take(reader_.file().string(type_key));
  auto factor = reader_.number(key("rope.scaling.factor"), 0.0f, 1e6f);
  if (!factor) factor = reader_.number(key("rope.scale_linear"), 0.0f, 1e6f);  // its old name
  if (type && *type != "none" && *type != "linear" && *type != "yarn") {
    reader_.fail_key(type_key, quoted_name(*type) + " is not supported; none, linear and yarn are",
                     ErrorCode::kUnsupported);
    return;
  }
  if ((type && *type == "none") || !factor || *factor == 0.0f || *factor == 1.0f) return;
  rope.factor = *factor;
  rope.scaling = type && *type == "yarn" ? RopeScaling::kYarn : RopeScaling::kLinear;
  if (rope.scaling == RopeScaling::kYarn) read_yarn();
}

void ConfigReader::read_yarn() {
  RopeConfig& rope = config_.rope;
  rope.original_context_length =
      reader_.count(key("rope.scaling.original_context_length"), 1, kMaximumContext)
          .value_or(config_.context_length);
  const auto number = [this](std::string_view field, float smallest, float absent) {
    return reader_.number(key(field), smallest, 1e6f).value_or(absent);
  };
  rope.extrapolation_factor = number("rope.scaling.yarn_ext_factor", 0.0f, 1.0f);
  rope.attention_factor = number("rope.scaling.attn_factor", 1e-6f, 1.0f) *
                          number("rope.scaling.yarn_attn_factor", 1e-6f, 1.0f);
  rope.beta_fast = number("rope.scaling.yarn_beta_fast", 1e-6f, 32.0f);
  rope.beta_slow = number("rope.scaling.yarn_beta_slow", 1e-6f, 1.0f);
  if (rope.beta_fast < rope.beta_slow) {
    reader_.fail_key(key("rope.scaling.yarn_beta_fast"), "is less than yarn_beta_slow");
  }
  if (rope.base <= 1.0f) reader_.fail_key(key("rope.freq_base"), "must be above 1 for yarn");
}

void ConfigReader::read_sliding_window() {
  config_.layer_is_sliding.assign(config_.layers, false);
  const std::uint32_t window =
      reader_.count(key("attention.sliding_window"), 0, kMaximumContext).value_or(0);
  if (window == 0 || window >= config_.context_length) return;  // such a window hides nothing
  config_.sliding_window = window;
  const std::string pattern_key = key("attention.sliding_window_pattern");
  const MetadataEntry* pattern = reader_.file().find(pattern_key);
  if (pattern != nullptr && pattern->type == ValueType::kArray) {
    const auto flags = reader_.take(reader_.file().booleans(pattern_key));
    if (flags && flags->size() != config_.layers) {
      reader_.fail_key(pattern_key, "has " + std::to_string(flags->size()) + " entries for " +
                                        std::to_string(config_.layers) + " layers");
    }
    if (reader_.failed()) return;
    for (std::uint32_t layer = 0; layer < config_.layers; ++layer) {
      config_.layer_is_sliding[layer] = (*flags)[layer] != 0;
    }
    return;
  }
  // A pattern of n: every n-th layer sees everything. Without one, all layers slide (0).
  const std::uint32_t absent =
      config_.architecture == Architecture::kGemma3 ? kGemma3SlidingPattern : 0;
  const std::uint32_t every = reader_.count(pattern_key, 0, kMaximumLayers).value_or(absent);
  for (std::uint32_t layer = 0; layer < config_.layers; ++layer) {
    config_.layer_is_sliding[layer] = every == 0 || layer % every + 1 != every;
  }
}

void ConfigReader::read_choices() {
  const bool gemma3 = config_.architecture == Architecture::kGemma3;
  config_.embedding_scale = gemma3 ? std::sqrt(static_cast<float>(config_.embedding)) : 1.0f;
  config_.activation = gemma3 ? Activation::kGeluTanh : Activation::kSilu;
  config_.post_norms = gemma3;
  config_.query_key_norm = gemma3 || config_.architecture == Architecture::kQwen3;
  const bool llama = config_.architecture == Architecture::kLlama;
  config_.query_key_value_bias = config_.architecture == Architecture::kQwen2 ||
                                 (llama && has_tensor("blk.0.attn_q.bias"));
  config_.output_bias = llama && has_tensor("blk.0.attn_output.bias");
  config_.tied_output = !has_tensor("output.weight");
}

void ConfigReader::refuse_other_mathematics() {
  const auto experts = reader_.take(reader_.file().u32(key("expert_count")));
  if (experts.value_or(0) != 0) {
    reader_.fail_key(key("expert_count"), "mixtures of experts are not supported",
                     ErrorCode::kUnsupported);
  }
  if (!reader_.boolean(key("attention.causal")).value_or(true)) {
    reader_.fail_key(key("attention.causal"), "only causal attention is supported",
                     ErrorCode::kUnsupported);
  }
  for (const std::string_view field : kRefusedKeys) {
    if (reader_.file().find(key(field)) != nullptr) {
      reader_.fail_key(key(field), "is not supported for this architecture",
                       ErrorCode::kUnsupported);
    }
  }
}

}  // namespace

std::string_view name(Architecture architecture) noexcept {
  switch (architecture) {
    case Architecture::kLlama: return "llama";
    case Architecture::kQwen2: return "qwen2";
    case Architecture::kQwen3: return "qwen3";
    case Architecture::kGemma3: return "gemma3";
  }
  return "unknown";
}

Result<ModelConfig> config_of(const GgufFile& file) { return ConfigReader(file).read(); }

}  // namespace paternoster::model
