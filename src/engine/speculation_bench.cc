#include "engine/speculation_bench.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <fstream>
#include <iterator>

#include "engine/drive.h"
#include "engine/preparer.h"
#include "engine/step_calibrator.h"

namespace paternoster::engine {
namespace {

constexpr std::int32_t kMaxLen = 2048;

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::shared_ptr<RequestNumbers> numbers_of(const SpeculationBench& bench, const Preparer& preparer,
                                           const boost::json::value& asked) {
  api::Generation generation;
  api::ChatPrompt chat;
  chat.messages.push_back({"user", std::string(asked.at("ask").as_string()) + "\n\n" +
                                       std::string(asked.at("text").as_string())});
  generation.prompt = std::move(chat);
  generation.max_tokens = bench.tokens;
  generation.sampling.temperature = bench.temperature;
  generation.sampling.seed = 1;
  generation.logprobs = true;
  auto prepared = preparer.prepare(std::move(generation));
  return prepared ? prepared->numbers : nullptr;
}

std::vector<std::shared_ptr<RequestNumbers>> read_texts(const SpeculationBench& bench, const LoadedModel& model) {
  std::ifstream file(bench.texts);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  boost::system::error_code error;
  const boost::json::value list = boost::json::parse(text, error);
  std::vector<std::shared_ptr<RequestNumbers>> requests;
  if (error || !list.is_array()) return requests;
  const Preparer preparer(model, kMaxLen, true);
  for (const boost::json::value& asked : list.get_array()) {
    requests.push_back(numbers_of(bench, preparer, asked));
    if (requests.back() == nullptr) return {};
  }
  return requests;
}

struct Figures {
  std::size_t tokens = 0;
  std::size_t steps = 0;
  std::size_t drawn_while_decoding = 0;  // in steps in which nobody computes a prompt
  std::size_t decoding_steps = 0;
  std::uint64_t drafted = 0;
  std::uint64_t accepted = 0;
  double seconds = 0;
  double processor_seconds = 0;
};

// An engine as a server drives it: the cost model follows the steps, the prefix cache is on.
class Engine {
 public:
  Engine(const LoadedModel& model, ThreadPool& pool, int sequences, scheduler::Speculation speculation)
      : drive_(model.packed, pool, config_of(sequences, speculation)) {}

  // All requests, as many at a time as there are seats; the answers go to `answers`.
  Figures play(const std::vector<std::shared_ptr<RequestNumbers>>& requests, int tokens,
               std::vector<DrivenChoice>& answers) {
    Figures figures;
    const scheduler::Stats before = drive_.scheduler().stats();
    const double begin = seconds_of(CLOCK_MONOTONIC), processor = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    std::vector<std::uint64_t> ids;
    for (const auto& request : requests) ids.push_back(drive_.submit(request, tokens));
    DrivenStep step;
    while (drive_.step(step)) count(step, figures);
    figures.seconds = seconds_of(CLOCK_MONOTONIC) - begin;
    figures.processor_seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor;
    const scheduler::Stats& after = drive_.scheduler().stats();
    figures.drafted = after.tokens_drafted - before.tokens_drafted;
    figures.accepted = after.tokens_accepted - before.tokens_accepted;
    answers.clear();
    for (const std::uint64_t id : ids) answers.push_back(drive_.choices(id)[0]);
    return figures;
  }

 private:
  static scheduler::Config config_of(int sequences, scheduler::Speculation speculation) {
    scheduler::Config config;
    config.choices.speculation = speculation;
    config.limits.max_seqs = sequences;
    config.limits.max_len = kMaxLen;
    config.limits.num_blocks = sequences * kMaxLen / config.limits.block_size;
    return config;
  }

  void count(const DrivenStep& step, Figures& figures) {
    ++figures.steps;
    figures.tokens += step.drawn;
    if (step.only_decodes) {
      ++figures.decoding_steps;
      figures.drawn_while_decoding += step.drawn;
    }
    scheduler::Scheduler& scheduler = drive_.scheduler();
    const auto cost = calibrator_.take(scheduler.last_plan(), step.plan_ns + step.execute_ns + step.commit_ns,
                                       scheduler.config().cost);
    if (cost) static_cast<void>(scheduler.calibrate(0, *cost));
  }

  Drive drive_;
  StepCalibrator calibrator_;
};

bool equal(const std::vector<DrivenChoice>& left, const std::vector<DrivenChoice>& right) {
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i].tokens != right[i].tokens) return false;
    for (std::size_t at = 0; at < left[i].drawn.size(); ++at) {
      if (left[i].drawn[at].chosen.logprob != right[i].drawn[at].chosen.logprob) return false;
    }
  }
  return true;
}

void print(const Figures& figures, const char* name) {
  fmt::print("\"{}\": {{\"tokens\": {}, \"steps\": {}, \"tokens_a_decoding_step\": {:.4f}, \"drafted\": {}, "
             "\"accepted\": {}, \"per_second\": {:.3f}, \"per_processor_second\": {:.3f}}}",
             name, figures.tokens, figures.steps,
             static_cast<double>(figures.drawn_while_decoding) /
                 static_cast<double>(std::max<std::size_t>(figures.decoding_steps, 1)),
             figures.drafted, figures.accepted, static_cast<double>(figures.tokens) / figures.seconds,
             static_cast<double>(figures.tokens) / figures.processor_seconds);
}

}  // namespace

int run_speculation_bench(const SpeculationBench& bench, const LoadedModel& model, ThreadPool& pool) {
  const auto requests = read_texts(bench, model);
  if (requests.empty()) {
    fmt::print(stderr, "engine_bench: {} is no JSON array of texts that this model can be asked\n", bench.texts);
    return 1;
  }
  for (const int sequences : bench.sequences) {
    Engine engines[] = {{model, pool, sequences, scheduler::Speculation::kOff},
                        {model, pool, sequences, scheduler::Speculation::kNgram}};
    for (int round = 0; round <= bench.rounds; ++round) {  // the first warms caches and cost models
      Figures figures[2];
      std::vector<DrivenChoice> answers[2];
      for (int turn = 0; turn < 2; ++turn) {
        const int which = (turn + round) % 2;
        figures[which] = engines[which].play(requests, bench.tokens, answers[which]);
      }
      if (!equal(answers[0], answers[1])) {
        fmt::print(stderr, "engine_bench: the answers with and without guesses differ\n");
        return 1;
      }
      if (round == 0) continue;
      fmt::print("{{\"sequences\": {}, ", sequences);
      print(figures[0], "off");
      fmt::print(", ");
      print(figures[1], "ngram");
      fmt::print("}}\n");
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace paternoster::engine
