// evaluate MODEL [--tokens N] [--reference-tokens N] [--prompts N] [--ids FILE]
// [--kv-type f16|bf16|q8_0]: how far the fast path
// is from the float32 reference, on Debian's licence texts. Prints one JSON object; exit code 1 when a
// bound is broken.
//
// Text is cut into windows of 512 tokens, the first of which is BOS where the model wants one; every
// token but the first is predicted. --ids writes the windows for another engine to be judged on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/drive.h"
#include "engine/loaded_model.h"
#include "engine/machine.h"
#include "engine/reference_model.h"
#include "model/model_path.h"

namespace {

using namespace paternoster;
using engine::Rows;

constexpr std::size_t kWindow = 512;
constexpr double kMostDivergence = 0.02;  // mean KL, in nats
// A logit of the fast path differs from the reference's by about this much: activations are rounded to
// 8 bits. Where the two best are nearer than twice that, either may win.
constexpr double kStatedError = 0.5;

struct Options {
  std::string model;
  std::size_t tokens = 20480;
  std::size_t reference_tokens = 4096;
  std::size_t prompts = 50;
  std::string ids;
  kernels::KvType kv_type = kernels::KvType::kF16;
};

Options read_options(int argc, char** argv) {
  Options options;
  if (argc > 1) options.model = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--tokens") options.tokens = std::stoul(value);
    if (name == "--reference-tokens") options.reference_tokens = std::stoul(value);
    if (name == "--prompts") options.prompts = std::stoul(value);
    if (name == "--ids") options.ids = value;
    if (name == "--kv-type") options.kv_type = kernels::parse_kv_type(value).value_or(options.kv_type);
  }
  return options;
}

std::string licence_texts() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/share/common-licenses")) {
    if (entry.is_regular_file() && !entry.is_symlink()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::string text;
  for (const auto& path : paths) {
    std::ifstream file(path);
    text.append(std::istreambuf_iterator<char>(file), {});
  }
  return text;
}

using Window = std::vector<TokenId>;

std::vector<Window> windows_of(const text::Tokenizer& tokenizer, std::size_t tokens) {
  const auto ids = tokenizer.encode(licence_texts(), {.add_special = false});
  std::vector<Window> windows;
  if (!ids) return windows;
  const std::size_t lead = tokenizer.adds_bos() && tokenizer.bos() ? 1 : 0;
  const std::size_t step = kWindow - lead;
  for (std::size_t at = 0; at + step <= ids->size() && windows.size() * kWindow < tokens; at += step) {
    Window window;
    if (lead == 1) window.push_back(*tokenizer.bos());
    window.insert(window.end(), ids->begin() + static_cast<std::ptrdiff_t>(at),
                  ids->begin() + static_cast<std::ptrdiff_t>(at + step));
    windows.push_back(std::move(window));
  }
  return windows;
}

// A plan that computes one window from its beginning.
scheduler::Plan plan_of(const Window& window) {
  scheduler::Plan plan;
  scheduler::RunEntry entry;
  entry.token_count = static_cast<std::uint32_t>(window.size());
  entry.block_count = static_cast<std::uint32_t>((window.size() + 15) / 16);
  plan.tokens = window;
  for (std::uint32_t block = 0; block < entry.block_count; ++block) plan.blocks.push_back(BlockId{block});
  plan.run.push_back(entry);
  return plan;
}

double log_normaliser(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

struct Sums {
  double fast_nll = 0;
  std::size_t tokens = 0;
  double reference_nll = 0;
  double fast_nll_beside_reference = 0;
  double divergence = 0;
  double worst_divergence = 0;
  double squared_error = 0;
  std::size_t logits = 0;
  std::size_t reference_tokens = 0;
};

class Evaluation {
 public:
  Evaluation(const engine::LoadedModel& model, engine::ThreadPool& pool, kernels::KvType kv_type)
      : model_(model),
        pool_(pool),
        cache_(model.packed.layers().size(), shape_of(model, kv_type), kWindow / 16),
        forward_(model.packed, cache_, pool, kWindow),
        reference_(*model.file, pool) {}

  void add(const Window& window, bool with_reference) {
    forward_.run(plan_of(window));
    Rows hidden;
    if (with_reference) hidden = reference_.hidden(window);
    for (std::size_t begin = 0; begin + 1 < window.size(); begin += engine::Forward::kMaxLogitRows) {
      const std::size_t end = std::min(begin + engine::Forward::kMaxLogitRows, window.size() - 1);
      std::vector<std::uint32_t> rows;
      for (std::size_t row = begin; row < end; ++row) rows.push_back(static_cast<std::uint32_t>(row));
      forward_.compute_logits(rows);
      Rows truth;
      if (with_reference) truth = reference_.logits(hidden, begin, end);
      for (std::size_t row = begin; row < end; ++row) {
        const auto next = static_cast<std::size_t>(window[row + 1]);
        const std::span<const float> fast = forward_.logits(row - begin);
        const double normaliser = log_normaliser(fast);
        sums.fast_nll += normaliser - fast[next];
        ++sums.tokens;
        if (with_reference) compare({truth.row(row - begin), truth.width}, fast, normaliser, next);
      }
    }
  }

  Sums sums;

 private:
  static kernels::AttentionShape shape_of(const engine::LoadedModel& model, kernels::KvType kv_type) {
    kernels::AttentionShape shape = model.packed.layers().front().shape;
    shape.type = kv_type;
    return shape;
  }

  void compare(std::span<const float> truth, std::span<const float> fast, double fast_normaliser,
               std::size_t next) {
    const double normaliser = log_normaliser(truth);
    double divergence = 0;
    for (std::size_t id = 0; id < truth.size(); ++id) {
      const double log_truth = truth[id] - normaliser;
      divergence += std::exp(log_truth) * (log_truth - (fast[id] - fast_normaliser));
      const double difference = double{truth[id]} - fast[id];
      sums.squared_error += difference * difference;
    }
    sums.logits += truth.size();
    sums.divergence += divergence;
    sums.worst_divergence = std::max(sums.worst_divergence, divergence);
    sums.reference_nll += normaliser - truth[next];
    sums.fast_nll_beside_reference += fast_normaliser - fast[next];
    ++sums.reference_tokens;
  }

  const engine::LoadedModel& model_;
  engine::ThreadPool& pool_;
  engine::KvCache cache_;
  engine::Forward forward_;
  engine::ReferenceModel reference_;
};

struct Greedy {
  std::size_t positions = 0;
  std::size_t equal = 0;
  std::size_t wide_gaps = 0;     // positions where the reference is sure
  std::size_t wrong = 0;         // of those, where the fast path chose another
  double widest_miss = 0;        // the largest gap at which it chose another
};

// The fast path continues each prompt; the reference reads prompt and continuation once and says at
// every position what it would have chosen there.
Greedy judge_greedy(const engine::LoadedModel& model, engine::ThreadPool& pool,
                    const std::vector<Window>& windows, std::size_t prompts) {
  constexpr std::size_t kPrompt = 16;
  constexpr std::size_t kOutput = 12;
  scheduler::Config config;
  config.limits.num_blocks = 256;
  config.limits.max_len = 64;
  engine::Drive drive(model.packed, pool, config);
  std::vector<Window> texts;
  for (std::size_t i = 0; i < prompts; ++i) {
    const Window& window = windows[i % windows.size()];
    const std::size_t from = 37 * (i / windows.size());
    auto numbers = std::make_shared<engine::RequestNumbers>();
    numbers->params.temperature = 0;
    numbers->prompt.assign(window.begin() + static_cast<std::ptrdiff_t>(from),
                           window.begin() + static_cast<std::ptrdiff_t>(from + kPrompt));
    texts.push_back(numbers->prompt);
    drive.submit(std::move(numbers), kOutput);
  }
  drive.run();
  const engine::ReferenceModel reference(*model.file, pool);
  Greedy greedy;
  for (std::size_t i = 0; i < prompts; ++i) {
    const std::vector<TokenId>& output = drive.choices(i)[0].tokens;
    texts[i].insert(texts[i].end(), output.begin(), output.end());
    const Rows hidden = reference.hidden(texts[i]);
    const Rows logits = reference.logits(hidden, kPrompt - 1, kPrompt - 1 + output.size());
    for (std::size_t at = 0; at < output.size(); ++at) {
      std::vector<float> row(logits.row(at), logits.row(at) + logits.width);
      const auto best = std::max_element(row.begin(), row.end());
      const bool same = best - row.begin() == output[at];
      const float top = *best;
      *best = -INFINITY;
      const double gap = double{top} - *std::max_element(row.begin(), row.end());
      ++greedy.positions;
      greedy.equal += same ? 1 : 0;
      greedy.wide_gaps += gap > 2 * kStatedError ? 1 : 0;
      if (same) continue;
      greedy.widest_miss = std::max(greedy.widest_miss, gap);
      greedy.wrong += gap > 2 * kStatedError ? 1 : 0;
    }
  }
  return greedy;
}

void write_ids(const std::string& path, const std::vector<Window>& windows) {
  std::ofstream file(path);
  for (const Window& window : windows) {
    for (const TokenId token : window) file << token << ' ';
    file << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  const auto path = model::resolve_model(options.model);
  if (!path) {
    fmt::print(stderr, "evaluate: {}\n", path.error().message);
    return 77;  // ctest's "skipped"
  }
  engine::ThreadPool pool(engine::read_machine().processors);
  const auto model = engine::load(*path, pool);
  if (!model) {
    fmt::print(stderr, "evaluate: {}\n", model.error().message);
    return 1;
  }
  const std::vector<Window> windows = windows_of(model->tokenizer, options.tokens);
  if (windows.empty()) {
    fmt::print(stderr, "evaluate: no text in /usr/share/common-licenses\n");
    return 1;
  }
  if (!options.ids.empty()) write_ids(options.ids, windows);
  Evaluation evaluation(*model, pool, options.kv_type);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    evaluation.add(windows[i], i * kWindow < options.reference_tokens);
  }
  const Greedy greedy = judge_greedy(*model, pool, windows, options.prompts);
  const Sums& sums = evaluation.sums;
  const auto beside = static_cast<double>(std::max<std::size_t>(sums.reference_tokens, 1));
  const double divergence = sums.divergence / beside;
  fmt::print("{{\"model\": \"{}\", \"kv_type\": \"{}\", \"tokens\": {}, \"perplexity\": {:.4f}, \"reference_tokens\": {}, "
             "\"reference_perplexity\": {:.4f}, \"perplexity_beside_reference\": {:.4f}, "
             "\"mean_kl\": {:.6f}, \"worst_kl\": {:.4f}, \"logit_rms_error\": {:.4f}, "
             "\"greedy_positions\": {}, \"greedy_equal\": {}, \"greedy_sure\": {}, \"greedy_wrong\": {}, "
             "\"widest_miss\": {:.3f}}}\n",
             options.model, kernels::kv_type_name(options.kv_type), sums.tokens, std::exp(sums.fast_nll / static_cast<double>(sums.tokens)),
             sums.reference_tokens, std::exp(sums.reference_nll / beside),
             std::exp(sums.fast_nll_beside_reference / beside), divergence, sums.worst_divergence,
             std::sqrt(sums.squared_error / static_cast<double>(std::max<std::size_t>(sums.logits, 1))),
             greedy.positions, greedy.equal, greedy.wide_gaps, greedy.wrong, greedy.widest_miss);
  return divergence < kMostDivergence && greedy.wrong == 0 ? 0 : 1;
}
