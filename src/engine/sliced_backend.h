// Several engines behind one port that answer in slices: the port's side of slice_loop.h.
//
// Threads as in api/backend.h: any thread may call. A text worker renders and tokenises every prompt once,
// whatever engines its slices run on; all that is told comes from the slice loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/backend.h"
#include "engine/loaded_model.h"
#include "engine/preparer.h"
#include "engine/reception.h"
#include "engine/slice_engine.h"
#include "engine/slice_loop.h"
#include "fleet/fleet.h"
#include "measure/serving.h"

namespace paternoster::engine {

class SlicedBackend final : public api::Backend {
 public:
  struct Options {
    std::string fleet;  // the preset's name, for the card
    std::int32_t max_queue = 256;
    bool share_prefixes = false;
    measure::ServingMetrics* metrics = nullptr;  // must outlive the backend
  };

  // As many engines as the fleet has instances; all serve `model`.
  SlicedBackend(std::vector<std::unique_ptr<SliceEngine>> engines, std::shared_ptr<const LoadedModel> model,
                fleet::Fleet&& fleet, const Options& options);
  ~SlicedBackend() override;

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
  void watch_live(bool on) override;
  // The engines are not told: what was accepted comes back to them slice by slice.
  void drain() override { reception_->drain(); }

  fleet::Stats stats() const { return loop_->stats(); }

 private:
  class Gate;

  std::vector<std::unique_ptr<Gate>> gates_;  // before engines_: they outlive them
  std::vector<std::unique_ptr<SliceEngine>> engines_;
  std::shared_ptr<const LoadedModel> model_;
  api::ModelCard card_;
  Preparer preparer_;
  std::unique_ptr<SliceLoop> loop_;
  std::unique_ptr<Reception<SliceLoop>> reception_;  // after loop_: it sends to it, so it ends first
};

}  // namespace paternoster::engine
