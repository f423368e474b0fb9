#include "cli/scheduler_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>

#include "base/duration.h"
#include "scheduler/presets.h"

namespace paternoster::cli {
namespace {

constexpr std::int32_t kMostTokens = std::numeric_limits<std::int32_t>::max();
// A simulation turns nobody away unless it is told to: a queue that grows is what it is to show.
constexpr std::int32_t kUnboundedQueue = 1 << 30;

// The words of an enumeration, as its to_string gives them: from 0 up to the first that is none.
template <typename E>
std::vector<std::string> words_of() {
  std::vector<std::string> words;
  for (int value = 0; value < 32; ++value) {
    std::string word = scheduler::to_string(static_cast<E>(value));
    if (word == "?" || (!words.empty() && words.back() == word)) break;
    words.push_back(std::move(word));
  }
  return words;
}

template <typename E>
Result<void> set_word(E& to, std::string_view name, std::string_view word) {
  const auto words = words_of<E>();
  for (std::size_t value = 0; value < words.size(); ++value) {
    if (words[value] != word) continue;
    to = static_cast<E>(value);
    return {};
  }
  return failure(ErrorCode::kInvalidArgument,
                 fmt::format("no {} '{}'; there are {}", name, word, fmt::join(words, ", ")));
}

template <typename E>
void add_choice(CLI::App& app, SchedulerOptions& options, const std::string& name, const char* help) {
  app.add_option_function<std::string>(
         "--" + name, [&options, name](const std::string& word) { options.choices.emplace_back(name, word); },
         fmt::format("{}: {}", help, fmt::join(words_of<E>(), ", ")))
      ->group("Scheduler");
}

void add_duration(CLI::App& app, std::optional<std::int64_t>& to, const std::string& name, const std::string& help) {
  app.add_option_function<std::string>(
         "--" + name,
         [&to, name](const std::string& text) {
           const auto duration = parse_duration(text);
           if (!duration) throw CLI::ValidationError("--" + name, duration.error().message);
           to = *duration;
         },
         help)
      ->group("Scheduler");
}

// The scheduler's own idea of time, for orders and prefills that weigh it: the profile's common line.
scheduler::CostModel cost_of(const cost::StepModel& model) {
  scheduler::CostModel cost;
  cost.step_ns = model.terms.fixed_ps / 1000 + model.step_overhead_ns;
  cost.token_ps = std::max<std::int64_t>(model.terms.prompt_token_ps, 1);  // budgets divide by it
  cost.context_ps = model.terms.decode_context_ps;
  cost.chunk_context_ps = model.terms.chunk_context_ps;
  return cost;
}

}  // namespace

void add_scheduler_options(CLI::App& app, SchedulerOptions& options) {
  const std::string group = "Scheduler";
  std::string names;
  for (const scheduler::Preset& preset : scheduler::presets()) {
    names += (names.empty() ? "" : ", ") + std::string(preset.name);
  }
  app.add_option("--preset", options.presets, "one, or several to compare: " + names)
      ->delimiter(',')
      ->group(group);
  add_choice<scheduler::Boarding>(app, options, "boarding", "when sequences get on, whatever the preset");
  add_choice<scheduler::Order>(app, options, "order", "who is next");
  add_choice<scheduler::Prefill>(app, options, "prefill", "how prompts share a step");
  add_choice<scheduler::Relief>(app, options, "relief", "what happens when KV is short");
  add_choice<scheduler::Victim>(app, options, "victim", "who then loses the seat");
  add_duration(app, options.window, "window", "boarding window: how long the first of a unit waits for others");
  add_duration(app, options.itl_target, "itl-target", "prefill latency_target: the longest gap of a running stream");
  add_duration(app, options.ageing, "ageing", "order priority: how much later one class less urgent counts");
  add_duration(app, options.promotion, "promotion", "shortest, deadline, multilevel: nobody new overtakes after it");
  add_duration(app, options.quantum, "quantum", "order multilevel: of the highest level");
  app.add_option("--slice", options.slice, "boarding sliced: output tokens a batch")
      ->check(CLI::Range(1, 1 << 20))
      ->group(group);
  app.add_option("--max-seqs", options.max_seqs, "seats: sequences that run at once")
      ->check(CLI::Range(1, 1 << 16))
      ->group(group);
  app.add_option("--step-tokens", options.step_tokens, "most tokens computed in a step")
      ->check(CLI::Range(1, 1 << 24))
      ->group(group);
  app.add_option("--max-len", options.max_len, "context of a sequence in tokens")
      ->check(CLI::Range(2, 1 << 24))
      ->group(group);
  app.add_option("--kv-tokens", options.kv_tokens, "size of the KV cache in tokens")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 36))
      ->group(group);
  app.add_option("--block-size", options.block_size, "tokens a KV block")
      ->check(CLI::Range(1, 1 << 12))
      ->group(group);
  app.add_option("--max-queue", options.max_queue, "most requests that wait; otherwise nobody is turned away")
      ->check(CLI::Range(1, kMostTokens))
      ->group(group);
  app.add_flag("!--no-prefix-cache", options.prefix_cache, "share no prefixes")->group(group);
}

Result<void> set_choice(scheduler::Choices& choices, std::string_view name, std::string_view word) {
  if (name == "boarding") return set_word(choices.boarding, name, word);
  if (name == "order") return set_word(choices.order, name, word);
  if (name == "prefill") return set_word(choices.prefill, name, word);
  if (name == "relief") return set_word(choices.relief, name, word);
  if (name == "victim") return set_word(choices.victim, name, word);
  return failure(ErrorCode::kInvalidArgument, fmt::format("no choice '{}'", name));
}

Result<scheduler::Config> configure(const SchedulerOptions& options, const std::string& preset,
                                    const cost::Profile& profile) {
  scheduler::Config config;
  auto choices = scheduler::choices_of(preset);
  if (!choices) return std::unexpected(choices.error());
  config.choices = *choices;
  for (const auto& [name, word] : options.choices) {
    if (auto set = set_choice(config.choices, name, word); !set) return std::unexpected(set.error());
  }
  scheduler::Limits& limits = config.limits;
  limits.max_seqs = options.max_seqs.value_or(profile.max_seqs);
  limits.step_tokens = options.step_tokens.value_or(std::max(profile.step_tokens, limits.max_seqs));
  limits.max_len = options.max_len.value_or(profile.max_len);
  limits.block_size = options.block_size.value_or(profile.block_size);
  limits.max_queue = options.max_queue.value_or(kUnboundedQueue);
  limits.prefix_cache = options.prefix_cache;
  const std::int64_t blocks = options.kv_tokens.value_or(profile.kv_tokens) / limits.block_size;
  if (blocks < 1 || blocks > kMostTokens) {
    return failure(ErrorCode::kInvalidArgument, "the KV cache must hold at least one block");
  }
  limits.num_blocks = static_cast<std::int32_t>(blocks);
  scheduler::Tuning& tuning = config.tuning;
  tuning.window_ns = options.window.value_or(tuning.window_ns);
  tuning.itl_target_ns = options.itl_target.value_or(tuning.itl_target_ns);
  tuning.ageing_ns = options.ageing.value_or(tuning.ageing_ns);
  tuning.promotion_ns = options.promotion.value_or(tuning.promotion_ns);
  tuning.quantum_ns = options.quantum.value_or(tuning.quantum_ns);
  tuning.slice_tokens = options.slice.value_or(tuning.slice_tokens);
  config.cost = cost_of(profile.model);
  if (auto valid = scheduler::validate(config); !valid) return std::unexpected(valid.error());
  return config;
}

}  // namespace paternoster::cli
