// The native engine behind the port api::Backend: this machine's processors and one model file.
//
// Three kinds of threads: the callers', which only queue; the text worker; the engine's loop with the
// pool that helps it. See options.h for how one is made.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "api/backend.h"
#include "engine/engine_loop.h"
#include "engine/kv_budget.h"
#include "engine/kv_cache.h"
#include "engine/loaded_model.h"
#include "engine/machine.h"
#include "engine/options.h"
#include "engine/preparer.h"
#include "engine/reception.h"
#include "engine/slice_engine.h"
#include "engine/thread_pool.h"

namespace paternoster::engine {

// The model of options.model, loaded by options.threads threads (at least one).
Result<std::shared_ptr<const LoadedModel>> load_for(const EngineOptions& options);
void log_model(const api::ModelCard& card, const LoadedModel& model, std::int64_t taken_ns);

// What the engines of one process have in common, and which of them one is.
struct EngineShare {
  std::shared_ptr<const LoadedModel> model;
  std::int32_t engine = 0;
  std::int32_t engines = 1;
};

class NativeBackend final : public SliceEngine {
 public:
  // Loads the model for itself alone.
  static Result<std::unique_ptr<NativeBackend>> create(EngineOptions options);
  // One of several: the options are this one's share. Its call ids are those that leave `engine` when
  // divided by `engines`; its threads run where the calling one may.
  static Result<std::unique_ptr<NativeBackend>> create(EngineOptions options, EngineShare share,
                                                       const Machine& machine);

  void attach(api::Outlet* outlet) override { loop_->attach(outlet); }
  api::CallId generate(api::Generation generation) override;
  void cancel(api::CallId call) override { reception_->cancel(call); }
  void stop(api::CallId call) override { reception_->stop(call); }
  api::ApiResult<api::Tokenized> tokenize(const api::Prompt& prompt, bool add_special_tokens,
                                          bool want_pieces) const override;
  api::ApiResult<std::string> detokenize(const std::vector<TokenId>& tokens) const override;
  api::ApiResult<std::string> render(const api::ChatPrompt& prompt) const override;
  const api::ModelCard& model() const override { return card_; }
  api::Health health() const override;
  void list_requests() override { reception_->list_requests(); }
  void watch_live(bool on) override { loop_->watch(on); }
  void drain() override { reception_->drain(); }
  void run(PreparedCall slice) override { loop_->send(std::move(slice)); }
  std::optional<scheduler::CostModel> learnt_cost() const override { return loop_->learnt_cost(); }

 private:
  NativeBackend(EngineOptions options, EngineShare share, const KvBudget& budget,
                scheduler::Scheduler&& scheduler, LoopFiles&& files, std::unique_ptr<SwapFile> swap_file);
  void fill_card(const KvBudget& budget);

  EngineOptions options_;
  EngineShare share_;
  const LoadedModel& model_;  // share_.model
  ThreadPool pool_;
  KvCache cache_;
  NativeExecutor executor_;
  Preparer preparer_;
  api::ModelCard card_;
  std::atomic<std::uint64_t> last_call_{0};
  std::unique_ptr<EngineLoop> loop_;
  std::unique_ptr<Reception<EngineLoop>> reception_;  // after loop_: it sends to it, so it ends first
};

}  // namespace paternoster::engine
