// engine_bench: prefill and decode speed of the engine without HTTP, for benchmarks/peers.
//
//   engine_bench --model FILE [--threads T] [--sequences 1,2,4] [--prompt 128] [--decode 64]
//                [--kv-type f16|bf16|q8_0] [--closed REQUESTS] [--profile] [--json]
//
// Prefill: N prompts at once until each has its first token. Decode: only steps in which all N decode.
// --closed: instead, REQUESTS in all, N of them at any time, and tokens a second of processor time.
// --texts FILE [--rounds 5] [--temperature 0]: instead, these requests with and without guessing ahead, in turn.
// --profile: where the time of these steps went.
#include <fmt/format.h>

#include <time.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/drive.h"
#include "engine/loaded_model.h"
#include "engine/machine.h"
#include "engine/speculation_bench.h"
#include "kernels/isa.h"

namespace {

using namespace paternoster;

struct Options {
  std::string model;
  int threads = 0;
  std::vector<int> sequences{1, 2, 4, 8, 16, 32};
  int prompt = 128;
  int decode = 64;
  kernels::KvType kv_type = kernels::KvType::kF16;
  int closed = 0;
  std::string texts;
  int rounds = 5;
  float temperature = 0;
  bool profile = false;
  bool json = false;
};

std::vector<int> numbers_in(const std::string& list) {
  std::vector<int> numbers;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    numbers.push_back(std::max(1, std::atoi(list.substr(at, comma - at).c_str())));
    at = comma + 1;
  }
  return numbers;
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--json" || name == "--profile") {
      (name == "--json" ? options.json : options.profile) = true;
      continue;
    }
    if (i + 1 >= argc) break;
    const std::string value = argv[++i];
    if (name == "--model") options.model = value;
    if (name == "--threads") options.threads = std::atoi(value.c_str());
    if (name == "--sequences") options.sequences = numbers_in(value);
    if (name == "--prompt") options.prompt = std::max(1, std::atoi(value.c_str()));
    if (name == "--kv-type") options.kv_type = kernels::parse_kv_type(value).value_or(options.kv_type);
    if (name == "--closed") options.closed = std::max(1, std::atoi(value.c_str()));
    if (name == "--texts") options.texts = value;
    if (name == "--rounds") options.rounds = std::max(1, std::atoi(value.c_str()));
    if (name == "--temperature") options.temperature = std::strtof(value.c_str(), nullptr);
    if (name == "--decode") options.decode = std::max(2, std::atoi(value.c_str()));
  }
  return options;
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages >> pages;
  return pages * 4096;
}

struct Figures {
  double prefill = 0;  // tokens a second
  double decode = 0;
  double step_us = 0;       // of a decode step
  double scheduler_us = 0;  // of it, plan and commit
};

std::size_t products(const kernels::PackedMatrix& matrix) { return matrix.rows() * matrix.cols(); }

// Multiplications of one token in all linear layers, and of one token that is sampled on top.
std::size_t layer_products(const engine::PackedModel& model) {
  std::size_t total = 0;
  for (const engine::PackedLayer& layer : model.layers()) {
    for (const auto* matrix : {&layer.query, &layer.key, &layer.value, &layer.attention_output, &layer.gate,
                               &layer.up, &layer.down}) {
      total += products(*matrix);
    }
  }
  return total;
}
std::size_t vocabulary_products(const engine::PackedModel& model) { return products(model.output()); }

std::shared_ptr<engine::RequestNumbers> prompt_of(int length, int number, std::uint32_t vocabulary) {
  auto numbers = std::make_shared<engine::RequestNumbers>();
  numbers->params.temperature = 0;
  for (int i = 0; i < length; ++i) {
    const std::uint64_t word = random_u64(7, static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(i));
    numbers->prompt.push_back(static_cast<TokenId>(word % vocabulary));
  }
  return numbers;
}

// How much of what was measured each kind of work took.
void print_profile(const char* what, const engine::StepProfile& profile) {
  std::int64_t total = 0;
  for (const std::int64_t spent : profile.spent_ns) total += spent;
  fmt::print("  {}:", what);
  for (std::size_t i = 0; i < engine::kWorkNames.size(); ++i) {
    fmt::print(" {} {:.1f} %{}", engine::kWorkNames[i],
               100.0 * static_cast<double>(profile.spent_ns[i]) / static_cast<double>(std::max<std::int64_t>(total, 1)),
               i + 1 < engine::kWorkNames.size() ? "," : "\n");
  }
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

scheduler::Config config_of(const Options& options, int sequences) {
  scheduler::Config config;
  config.limits.max_seqs = sequences;
  config.limits.prefix_cache = false;
  config.limits.max_len = options.prompt + options.decode + 1;
  config.limits.num_blocks = sequences * (config.limits.max_len / config.limits.block_size + 2);
  return config;
}

// Tokens a second of processor time, with `sequences` requests at any time and options.closed in all.
double measure_closed(const Options& options, int sequences, const engine::PackedModel& model,
                      engine::ThreadPool& pool) {
  engine::Drive drive(model, pool, config_of(options, sequences), options.kv_type);
  drive.submit(prompt_of(options.prompt, 999, model.config().vocabulary), 2);
  drive.run();  // touches the memory
  std::vector<std::uint64_t> live;
  int submitted = 0;
  const double begin = processor_seconds();
  engine::DrivenStep step;
  do {
    std::erase_if(live, [&](std::uint64_t id) {
      return drive.choices(id)[0].tokens.size() == static_cast<std::size_t>(options.decode);
    });
    while (submitted < options.closed && live.size() < static_cast<std::size_t>(sequences)) {
      live.push_back(drive.submit(prompt_of(options.prompt, submitted++, model.config().vocabulary),
                                  options.decode));
    }
  } while (drive.step(step));
  return static_cast<double>(options.closed) * options.decode / (processor_seconds() - begin);
}

Figures measure(const Options& options, int sequences, const engine::PackedModel& model,
                engine::ThreadPool& pool) {
  engine::Drive drive(model, pool, config_of(options, sequences), options.kv_type);
  engine::StepProfile profile;
  const auto submit_all = [&](int max_tokens, int first) {
    for (int i = 0; i < sequences; ++i) {
      drive.submit(prompt_of(options.prompt, first + i, model.config().vocabulary), max_tokens);
    }
  };
  Figures figures;
  engine::DrivenStep step;
  for (int round = 0; round < 2; ++round) {  // the first touches the memory
    submit_all(1, round * sequences);
    if (round == 1 && options.profile) drive.executor().set_profile(&profile);
    std::int64_t spent_ns = 0;
    while (drive.step(step)) spent_ns += step.plan_ns + step.execute_ns + step.commit_ns;
    figures.prefill = 1e9 * sequences * options.prompt / static_cast<double>(spent_ns);
  }
  if (options.profile) print_profile("prefill", profile);
  drive.executor().set_profile(nullptr);
  submit_all(options.decode, 2 * sequences);
  std::int64_t decode_ns = 0;
  std::int64_t scheduler_ns = 0;
  std::int64_t steps = 0;
  while (drive.step(step)) {
    if (!step.only_decodes || step.sequences != static_cast<std::size_t>(sequences)) continue;
    decode_ns += step.plan_ns + step.execute_ns + step.commit_ns;
    scheduler_ns += step.plan_ns + step.commit_ns;
    ++steps;
    if (options.profile && steps == 1) {
      profile = {};
      drive.executor().set_profile(&profile);
    }
  }
  if (options.profile) print_profile("decode", profile);
  if (steps == 0) return figures;
  figures.decode = 1e9 * sequences * static_cast<double>(steps) / static_cast<double>(decode_ns);
  figures.step_us = static_cast<double>(decode_ns) / 1e3 / static_cast<double>(steps);
  figures.scheduler_us = static_cast<double>(scheduler_ns) / 1e3 / static_cast<double>(steps);
  return figures;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  const int threads = options.threads > 0 ? options.threads : engine::read_machine().processors;
  engine::ThreadPool pool(threads);
  auto model = engine::load(options.model, pool);
  if (!model) {
    fmt::print(stderr, "engine_bench: {}\n", model.error().message);
    return 1;
  }
  if (!options.texts.empty()) {
    return engine::run_speculation_bench(
        {options.texts, options.sequences, options.rounds, options.decode, options.temperature}, *model, pool);
  }
  if (options.closed > 0) {
    for (const int sequences : options.sequences) {
      fmt::print("{{\"sequences\": {}, \"tokens_per_processor_second\": {:.2f}}}\n", sequences,
                 measure_closed(options, sequences, model->packed, pool));
      std::fflush(stdout);
    }
    return 0;
  }
  if (!options.json) {
    fmt::print("{} threads, kernels {}\n", threads, kernels::isa_name(kernels::active_isa()));
    fmt::print("{:>9} {:>12} {:>12} {:>10} {:>12} {:>8}\n", "sequences", "prefill t/s", "decode t/s",
               "step us", "scheduler us", "MiB");
  }
  for (const int sequences : options.sequences) {
    const Figures figures = measure(options, sequences, model->packed, pool);
    if (options.json) {
      fmt::print("{{\"sequences\": {}, \"threads\": {}, \"prompt\": {}, \"decode\": {}, \"isa\": \"{}\", "
                 "\"prefill_tokens_per_second\": {:.1f}, \"decode_tokens_per_second\": {:.1f}, "
                 "\"decode_step_us\": {:.1f}, \"scheduler_us\": {:.1f}, \"resident_bytes\": {}, "
                 "\"weight_bytes\": {}, \"layer_products\": {}, \"vocabulary_products\": {}}}\n",
                 sequences, threads, options.prompt, options.decode,
                 kernels::isa_name(kernels::active_isa()), figures.prefill, figures.decode, figures.step_us,
                 figures.scheduler_us, resident_bytes(), model->packed.bytes(), layer_products(model->packed),
                 vocabulary_products(model->packed));
    } else {
      fmt::print("{:>9} {:>12.1f} {:>12.1f} {:>10.0f} {:>12.1f} {:>8}\n", sequences, figures.prefill,
                 figures.decode, figures.step_us, figures.scheduler_us, resident_bytes() >> 20);
    }
    std::fflush(stdout);
  }
  return 0;
}
