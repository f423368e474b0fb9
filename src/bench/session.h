// A server about to be measured: found, named, warm, with prompts of the wanted lengths; then any number
// of runs against it. What `bench` and `compare` have in common. One thread; `run` blocks.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <memory>
#include <string>

#include "bench/analysis.h"
#include "bench/load.h"
#include "client/caller.h"

namespace paternoster::bench {

struct SessionOptions {
  client::CallerOptions server;
  LoadOptions load;               // body.model empty: the server's first
  std::string prompts_file;       // empty: words
  std::int32_t warm_up = 4;       // requests before the first run, seen by nobody
  bool check_counts = false;      // answers are tokenized again, by the server's own tokenizer
  measure::Objectives objectives;
  std::chrono::milliseconds watch_period{250};  // between looks at the server's /metrics; 0: none
  bool stop_on_interrupt = true;  // Ctrl-C ends a run early, with what it has seen
};

class Session {
 public:
  // Asks for the model's name and for how long words are; the error says what to do.
  static Result<std::unique_ptr<Session>> open(SessionOptions options);

  // The first requests of the workload, a few at a time. An error if none of them is answered.
  Result<void> warm_up(const workload::Description& work);
  Result<BenchRun> run(const workload::Description& work, const std::string& label,
                       const std::function<void(const Progress&)>& report);

  const std::string& model() const { return options_.load.body.model; }
  const SessionOptions& options() const { return options_; }
  // Where the lengths of prompts are known from: "tokenize", "usage", "assumed" or "file".
  const std::string& prompt_source() const { return prompt_source_; }
  bool interrupted() const { return interrupted_; }

 private:
  explicit Session(SessionOptions options);
  Result<void> name_model();
  Result<void> make_prompts();
  Result<LoadResult> play(const workload::Description& work, LoadOptions load,
                          const std::function<void(const Progress&)>& report);
  std::optional<std::int32_t> count_tokens(const std::string& text);
  std::string metrics_text();

  SessionOptions options_;
  boost::asio::io_context context_;
  boost::asio::signal_set signals_;
  std::unique_ptr<client::Caller> caller_;
  std::optional<PromptMaker> prompts_;
  std::string prompt_source_;
  Load* running_ = nullptr;
  bool interrupted_ = false;
};

}  // namespace paternoster::bench
