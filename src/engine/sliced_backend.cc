#include "engine/sliced_backend.h"

#include <utility>

namespace paternoster::engine {
namespace {

std::vector<SliceEngine*> pointers_to(const std::vector<std::unique_ptr<SliceEngine>>& engines) {
  std::vector<SliceEngine*> pointers;
  for (const auto& engine : engines) pointers.push_back(engine.get());
  return pointers;
}

// The choices of the fleet beside those of its engines.
void describe(const fleet::Config& config, const std::string& preset, api::ModelCard& card) {
  auto& words = card.scheduling;
  words.emplace_back("fleet", preset);
  words.emplace_back("batching", to_string(config.choices.batching));
  words.emplace_back("placement", to_string(config.choices.placement));
  words.emplace_back("dispatch", to_string(config.choices.dispatch));
  words.emplace_back("between", to_string(config.choices.between));
  const bool sliced = config.limits.slice_tokens != fleet::kWholeRequest;
  words.emplace_back("slice_tokens", sliced ? std::to_string(config.limits.slice_tokens) : "whole");
}

}  // namespace

// One engine's outlet.
class SlicedBackend::Gate final : public api::Outlet {
 public:
  Gate(SliceLoop& loop, std::size_t engine) : loop_(loop), engine_(engine) {}
  void deliver(std::vector<api::BackendEvent>&& events) override { loop_.send(SlicesTold{std::move(events)}); }
  void show(api::LiveFrame&& frame) override { loop_.send(EngineFrame{engine_, std::move(frame)}); }
  void list(std::vector<api::RequestStatus>&&) override {}  // nobody asks an engine: the loop knows its calls

 private:
  SliceLoop& loop_;
  std::size_t engine_;
};

SlicedBackend::SlicedBackend(std::vector<std::unique_ptr<SliceEngine>> engines,
                             std::shared_ptr<const LoadedModel> model, fleet::Fleet&& fleet, const Options& options)
    : engines_(std::move(engines)),
      model_(std::move(model)),
      card_(summed_card(engines_)),
      preparer_(*model_, card_.max_len, options.share_prefixes) {
  describe(fleet.config(), options.fleet, card_);
  loop_ = std::make_unique<SliceLoop>(pointers_to(engines_), model_->tokenizer, std::move(fleet), options.metrics,
                                      options.max_queue + card_.max_seqs);
  for (std::size_t engine = 0; engine < engines_.size(); ++engine) {
    gates_.push_back(std::make_unique<Gate>(*loop_, engine));
    engines_[engine]->attach(gates_.back().get());
  }
  reception_ = std::make_unique<Reception<SliceLoop>>(*loop_, preparer_, options.max_queue, options.metrics);
}

SlicedBackend::~SlicedBackend() {
  reception_.reset();
  for (const auto& engine : engines_) engine->attach(nullptr);
  loop_.reset();
}

api::CallId SlicedBackend::generate(api::Generation generation) {
  const api::CallId call = loop_->next_call();
  reception_->generate(call, std::move(generation));
  return call;
}

api::ApiResult<api::Tokenized> SlicedBackend::tokenize(const api::Prompt& prompt, bool add_special_tokens,
                                                       bool want_pieces) const {
  return engines_.front()->tokenize(prompt, add_special_tokens, want_pieces);
}

api::ApiResult<std::string> SlicedBackend::detokenize(const std::vector<TokenId>& tokens) const {
  return engines_.front()->detokenize(tokens);
}

api::ApiResult<std::string> SlicedBackend::render(const api::ChatPrompt& prompt) const {
  return engines_.front()->render(prompt);
}

api::Health SlicedBackend::health() const {
  api::Health health = summed_health(engines_);
  health.waiting += loop_->waiting() + reception_->unread();
  const bool ready = health.readiness == api::Readiness::kReady;
  if (ready && reception_->draining()) health.readiness = api::Readiness::kDraining;
  return health;
}

void SlicedBackend::watch_live(bool on) {
  loop_->watch(on);
  for (const auto& engine : engines_) engine->watch_live(on);
  if (on) loop_->send(LookAgain{});
}

}  // namespace paternoster::engine
