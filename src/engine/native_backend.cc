#include "engine/native_backend.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "kernels/isa.h"
#include "model/gguf.h"
#include "model/weights.h"

namespace paternoster::engine {
namespace {

constexpr std::uint64_t kMostSwapBlocks = 1 << 20;


Result<scheduler::Config> scheduler_config(const EngineOptions& options, const KvBudget& budget,
                                           std::uint64_t block_bytes) {
  auto choices = scheduler::choose(options.preset, options.choices);
  if (!choices) return std::unexpected(choices.error());
  scheduler::Config config;
  config.choices = *choices;
  config.tuning = options.tuning;
  config.limits.max_seqs = options.max_seqs;
  config.limits.step_tokens = std::max(options.step_tokens, options.max_seqs);
  config.limits.block_size = static_cast<std::int32_t>(kernels::kKvBlockPositions);
  config.limits.num_blocks = budget.blocks;
  config.limits.max_len = budget.max_len;
  config.limits.max_queue = options.max_queue;
  config.limits.prefix_cache = options.prefix_cache;
  config.limits.swap_blocks = static_cast<std::int32_t>(
      std::min<std::uint64_t>(options.swap_bytes / block_bytes, kMostSwapBlocks));
  return config;
}

KvCosts costs_of(const LoadedModel& model, kernels::KvType type, const scheduler::Limits& limits) {
  const model::ModelConfig& config = model.packed.config();
  KvCosts costs;
  costs.block_bytes = KvCache::block_bytes(config.layers, model.packed.kv_shape(type));
  costs.block_tokens = static_cast<std::int32_t>(kernels::kKvBlockPositions);
  costs.trained_context = static_cast<std::int32_t>(config.context_length);
  costs.weight_bytes = model.packed.bytes();
  costs.scratch_bytes = Forward::scratch_bytes(config, static_cast<std::size_t>(limits.step_tokens));
  return costs;
}

// Null: the swap area is memory.
Result<std::unique_ptr<SwapFile>> make_swap_file(const EngineOptions& options, const scheduler::Config& config,
                                                 std::uint64_t block_bytes) {
  if (options.swap_file.empty()) return nullptr;
  const auto blocks = static_cast<std::uint64_t>(config.limits.swap_blocks);
  auto file = SwapFile::create(options.swap_file, blocks, block_bytes);
  if (file) spdlog::info("swap file: {} blocks, {} MiB", blocks, blocks * block_bytes / kMebibyte);
  return file;
}

// How much one step may compute: a whole prompt at once where the preset does not cut them.
std::size_t largest_step(const scheduler::Config& config) {
  const auto step = static_cast<std::size_t>(config.limits.step_tokens);
  if (config.choices.prefill != scheduler::Prefill::kWhole) return step;
  return std::max(step, static_cast<std::size_t>(config.limits.max_len));
}

// The type that most weights have: what people call the file's quantisation.
std::string weight_type_of(const model::GgufFile& file) {
  std::map<std::string_view, std::uint64_t> bytes;
  for (const model::TensorInfo& tensor : file.tensors()) {
    if (tensor.dimensions > 1 && tensor.name.starts_with("blk.")) {
      bytes[model::name(tensor.type)] += tensor.bytes.size();
    }
  }
  const auto most = std::max_element(bytes.begin(), bytes.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() ? std::string() : std::string(most->first);
}

}  // namespace

Result<std::shared_ptr<const LoadedModel>> load_for(const EngineOptions& options) {
  ThreadPool pool(options.threads);  // for loading only
  auto model = load(options.model, pool, options.chat_template);
  if (!model) return std::unexpected(model.error());
  return std::make_shared<const LoadedModel>(std::move(*model));
}

void log_model(const api::ModelCard& card, const LoadedModel& model, std::int64_t taken_ns) {
  spdlog::info("model {}: {} parameters, {}, kernels {}, weights {} MiB, ready in {} ms", card.id, card.parameters,
               card.weight_type, kernels::isa_name(kernels::active_isa()), model.packed.bytes() / kMebibyte,
               taken_ns / 1'000'000);
}

Result<std::unique_ptr<NativeBackend>> NativeBackend::create(EngineOptions options) {
  const std::int64_t begin_ns = now_ns();
  const Machine machine = read_machine();
  spdlog::info("threads: {} ({})", options.threads > 0 ? options.threads : machine.processors,
               options.threads > 0 ? "as --threads asks" : machine.processors_reason);
  if (options.threads == 0) options.threads = machine.processors;
  auto model = load_for(options);
  if (!model) return std::unexpected(model.error());
  auto backend = create(std::move(options), {std::move(*model), 0, 1}, machine);
  if (backend) log_model((*backend)->card_, *(*backend)->share_.model, now_ns() - begin_ns);
  return backend;
}

Result<std::unique_ptr<NativeBackend>> NativeBackend::create(EngineOptions options, EngineShare share,
                                                             const Machine& machine) {
  const KvWish wish{options.kv_tokens, options.kv_memory_bytes, options.max_len, options.max_seqs, share.engines};
  scheduler::Limits step;
  step.step_tokens = std::max(options.step_tokens, options.max_seqs);
  auto budget = plan_kv(wish, costs_of(*share.model, options.kv_type, step), machine);
  if (!budget) return std::unexpected(budget.error());
  auto config = scheduler_config(options, *budget, costs_of(*share.model, options.kv_type, step).block_bytes);
  if (!config) return std::unexpected(config.error());
  auto scheduler = scheduler::Scheduler::create(*config);
  if (!scheduler) return std::unexpected(scheduler.error());
  spdlog::info("{}KV cache: {} tokens of {} in {} blocks, {} MiB ({}); max-len {}",
               share.engines > 1 ? fmt::format("engine {}: ", share.engine) : "",
               std::int64_t{budget->blocks} * config->limits.block_size, kernels::kv_type_name(options.kv_type),
               budget->blocks, budget->bytes / kMebibyte, budget->reason, budget->max_len);
  auto files = open_files(options);
  if (!files) return std::unexpected(files.error());
  auto swap_file = make_swap_file(options, *config, costs_of(*share.model, options.kv_type, step).block_bytes);
  if (!swap_file) return std::unexpected(swap_file.error());
  return std::unique_ptr<NativeBackend>(new NativeBackend(std::move(options), std::move(share), *budget,
                                                          std::move(*scheduler), std::move(*files),
                                                          std::move(*swap_file)));
}

NativeBackend::NativeBackend(EngineOptions options, EngineShare share, const KvBudget& budget,
                             scheduler::Scheduler&& scheduler, LoopFiles&& files,
                             std::unique_ptr<SwapFile> swap_file)
    : options_(std::move(options)),
      share_(std::move(share)),
      model_(*share_.model),
      pool_(options_.threads),
      cache_(model_.packed.layers().size(), model_.packed.kv_shape(options_.kv_type),
             static_cast<std::size_t>(budget.blocks),
             static_cast<std::size_t>(scheduler.config().limits.swap_blocks), std::move(swap_file)),
      executor_(model_.packed, cache_, pool_, largest_step(scheduler.config())),
      preparer_(model_, budget.max_len, options_.share_prefixes) {
  fill_card(budget);
  const scheduler::Choices& choices = scheduler.config().choices;
  card_.scheduling = {{"preset", options_.preset},
                      {"boarding", to_string(choices.boarding)},
                      {"order", to_string(choices.order)},
                      {"prefill", to_string(choices.prefill)},
                      {"relief", to_string(choices.relief)},
                      {"victim", to_string(choices.victim)},
                      {"speculation", to_string(choices.speculation)}};
  if (options_.metrics != nullptr && share_.engines == 1) {
    options_.metrics->declare_cache(card_.block_tokens, budget.blocks);
  }
  loop_ = std::make_unique<EngineLoop>(std::move(scheduler), executor_, model_.tokenizer, options_,
                                       std::move(files), share_.engine);
  // Whom seats and queue have room for must not be turned away because all came at once.
  reception_ = std::make_unique<Reception<EngineLoop>>(*loop_, preparer_, options_.max_queue + options_.max_seqs,
                                                       options_.metrics);
}

void NativeBackend::fill_card(const KvBudget& budget) {
  const model::ModelConfig& config = model_.packed.config();
  const model::GgufFile& file = model_.file->file;
  card_.id = options_.model_id.empty() ? options_.model.stem().string() : options_.model_id;
  card_.path = options_.model.string();
  if (card_.id != options_.model.stem().string()) card_.aliases.push_back(options_.model.stem().string());
  std::error_code ignored;
  const auto written = std::filesystem::last_write_time(options_.model, ignored);
  const auto system = std::chrono::file_clock::to_sys(written);
  card_.created_s = std::chrono::duration_cast<std::chrono::seconds>(system.time_since_epoch()).count();
  card_.architecture = model::name(config.architecture);
  card_.weight_type = weight_type_of(file);
  card_.parameters = static_cast<std::int64_t>(model::parameter_count(file));
  card_.file_bytes = static_cast<std::int64_t>(file.file_bytes());
  card_.max_len = budget.max_len;
  card_.trained_context = static_cast<std::int32_t>(config.context_length);
  card_.vocabulary = static_cast<std::int32_t>(config.vocabulary);
  card_.max_seqs = options_.max_seqs;
  card_.block_tokens = static_cast<std::int32_t>(kernels::kKvBlockPositions);
  card_.kv_tokens = budget.blocks * card_.block_tokens;
  card_.chat_template = options_.chat_template ? *options_.chat_template
                                               : std::string(model_.file->tokenizer.chat_template);
  card_.chat_refusal = model_.chat_refusal;
}

api::CallId NativeBackend::generate(api::Generation generation) {
  const std::uint64_t number = last_call_.fetch_add(1, std::memory_order_relaxed) + 1;
  const api::CallId call{number * static_cast<std::uint64_t>(share_.engines) +
                         static_cast<std::uint64_t>(share_.engine)};
  reception_->generate(call, std::move(generation));
  return call;
}

api::ApiResult<api::Tokenized> NativeBackend::tokenize(const api::Prompt& prompt, bool add_special_tokens,
                                                       bool want_pieces) const {
  auto tokens = preparer_.tokenize(prompt, add_special_tokens);
  if (!tokens) return std::unexpected(std::move(tokens.error()));
  api::Tokenized tokenized{std::move(*tokens), {}};
  if (want_pieces) {
    for (const TokenId token : tokenized.tokens) {
      tokenized.pieces.emplace_back(model_.tokenizer.token_bytes(token));
    }
  }
  return tokenized;
}

api::ApiResult<std::string> NativeBackend::detokenize(const std::vector<TokenId>& tokens) const {
  auto text = model_.tokenizer.decode(tokens, {.keep_control = true});
  if (!text) return std::unexpected(api::invalid_value("tokens", text.error().message));
  return std::move(*text);
}

api::ApiResult<std::string> NativeBackend::render(const api::ChatPrompt& prompt) const {
  auto rendered = preparer_.render(prompt);
  if (!rendered) return std::unexpected(std::move(rendered.error()));
  return std::move(rendered->text);
}

api::Health NativeBackend::health() const {
  api::Health health;
  health.readiness = reception_->draining() ? api::Readiness::kDraining : api::Readiness::kReady;
  const std::int64_t last_ns = loop_->last_step_ns();
  if (last_ns >= 0) health.last_step_age_ns = now_ns() - last_ns;
  if (const auto since_ns = loop_->busy_since_ns(); since_ns && now_ns() - *since_ns > options_.stall_ns) {
    health.readiness = api::Readiness::kStalled;
    health.last_step_age_ns = now_ns() - *since_ns;
  }
  health.running = loop_->running();
  health.waiting = loop_->waiting() + reception_->unread();
  return health;
}

}  // namespace paternoster::engine
