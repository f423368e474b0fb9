#include "engine/fleet_backend.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "engine/beginnings.h"
#include "engine/clock.h"

namespace paternoster::engine {
namespace {

constexpr std::int64_t kMostTokens = 1 << 28;

fleet::Fleet make_fleet(std::size_t engines, fleet::Placement placement) {
  fleet::Config config;
  config.choices.placement = placement;
  config.limits.instances = static_cast<std::int32_t>(engines);
  config.memory.kv_tokens = std::int64_t{1} << 60;  // the engines refuse what does not fit
  auto fleet = fleet::Fleet::create(config);
  PATERNOSTER_CHECK(fleet.has_value());
  return std::move(*fleet);
}

}  // namespace

// One engine's outlet.
class FleetBackend::Gate final : public api::Outlet {
 public:
  Gate(FleetBackend& fleet, std::size_t engine) : fleet_(fleet), engine_(engine) {}
  void deliver(std::vector<api::BackendEvent>&& events) override { fleet_.hear(std::move(events)); }
  void show(api::LiveFrame&& frame) override { fleet_.show(engine_, std::move(frame)); }
  void list(std::vector<api::RequestStatus>&& requests) override { fleet_.list(engine_, std::move(requests)); }

 private:
  FleetBackend& fleet_;
  std::size_t engine_;
};

FleetBackend::FleetBackend(std::vector<std::unique_ptr<api::Backend>> engines, fleet::Placement placement)
    : engines_(std::move(engines)),
      card_(summed_card(engines_)),
      fleet_(make_fleet(engines_.size(), placement)),
      board_(engines_.size(), FrameBoard::Count::kOfEachEngine),
      answered_(engines_.size()) {
  for (std::size_t engine = 0; engine < engines_.size(); ++engine) {
    gates_.push_back(std::make_unique<Gate>(*this, engine));
    engines_[engine]->attach(gates_.back().get());
  }
}

FleetBackend::~FleetBackend() {
  for (const auto& engine : engines_) engine->attach(nullptr);
}

void FleetBackend::attach(api::Outlet* outlet) {
  const std::lock_guard lock(outlet_mutex_);
  outlet_ = outlet;
}

api::CallId FleetBackend::generate(api::Generation generation) {
  // Under the lock: an engine may be quicker to answer than we are to write down whom it answers.
  const std::lock_guard lock(fleet_mutex_);
  Trip trip;
  const std::size_t engine = place(generation, trip);
  const api::CallId call = engines_[engine]->generate(std::move(generation));
  PATERNOSTER_CHECK(engine_of(call) == engine);
  trips_[call] = trip;
  return call;
}

std::size_t FleetBackend::place(const api::Generation& generation, Trip& trip) {
  Beginnings beginnings = beginnings_of(generation);
  const std::int64_t guess = beginnings.bytes * prompt_tokens_ / prompt_bytes_;
  const std::int64_t prompt =
      std::clamp<std::int64_t>(beginnings.bytes > 0 ? guess : beginnings.tokens, 1, kMostTokens);
  const std::int64_t rest = std::max<std::int64_t>(1, card_.max_len - prompt);
  fleet::Request request;
  request.id = RequestId{++last_request_};
  request.prompt_tokens = static_cast<std::int32_t>(prompt);
  request.max_tokens = static_cast<std::int32_t>(
      std::clamp<std::int64_t>(generation.max_tokens.value_or(static_cast<std::int32_t>(rest)), 1, rest));
  request.choices = std::max(1, generation.choices);
  request.prefix = std::move(beginnings.chain);
  trip.request = request.id;
  trip.prompt_bytes = beginnings.bytes;
  trip.most_tokens = request.max_tokens;
  trip.choices = request.choices;
  const std::int64_t at_ns = now_ns();
  fleet_.submit(at_ns, std::move(request));
  const fleet::Plan& plan = fleet_.plan(at_ns);
  // Solo and at once: what came now goes now, and nothing else waits.
  PATERNOSTER_CHECK(plan.batches.size() == 1);
  trip.batch = plan.batches.front().id;
  return plan.batches.front().instance.value;
}

void FleetBackend::cancel(api::CallId call) {
  engines_[engine_of(call)]->cancel(call);
  const std::lock_guard lock(fleet_mutex_);
  const auto trip = trips_.find(call);
  if (trip == trips_.end()) return;
  fleet_.cancel(now_ns(), trip->second.request);
  trips_.erase(trip);
}

void FleetBackend::stop(api::CallId call) { engines_[engine_of(call)]->stop(call); }

// `tokens`: of all choices together.
void FleetBackend::end_trip(api::CallId call, std::int32_t tokens) {
  const auto trip = trips_.find(call);
  if (trip == trips_.end()) return;
  // The context may have had more room than was guessed from bytes.
  tokens = std::min(tokens / trip->second.choices, trip->second.most_tokens);
  if (tokens > 0) {
    const fleet::SliceResult result{trip->second.batch, tokens, {{trip->second.request, tokens, true}}};
    fleet_.commit(now_ns(), result);
  } else {
    fleet_.cancel(now_ns(), trip->second.request);  // it said nothing: that tells nothing of lengths
  }
  trips_.erase(trip);
}

void FleetBackend::note(const api::BackendEvent& event) {
  if (const auto* accepted = std::get_if<api::Accepted>(&event)) {
    const auto trip = trips_.find(accepted->call);
    if (trip == trips_.end() || trip->second.prompt_bytes == 0) return;
    prompt_bytes_ += trip->second.prompt_bytes;
    prompt_tokens_ += accepted->prompt_tokens;
    if (prompt_bytes_ < kMostTokens) return;
    prompt_bytes_ = prompt_bytes_ / 2 + 1;  // the older half counts half, and nothing overflows
    prompt_tokens_ = prompt_tokens_ / 2 + 1;
  } else if (const auto* done = std::get_if<api::Done>(&event)) {
    end_trip(done->call, done->usage.completion_tokens);
  } else if (const auto* refused = std::get_if<api::Refused>(&event)) {
    end_trip(refused->call, 0);
  }
}

void FleetBackend::hear(std::vector<api::BackendEvent>&& events) {
  {
    const std::lock_guard lock(fleet_mutex_);
    for (const api::BackendEvent& event : events) note(event);
  }
  const std::lock_guard lock(outlet_mutex_);
  if (outlet_ != nullptr) outlet_->deliver(std::move(events));
}

// ---- what is the same of every engine

api::ApiResult<api::Tokenized> FleetBackend::tokenize(const api::Prompt& prompt, bool add_special_tokens,
                                                      bool want_pieces) const {
  return engines_.front()->tokenize(prompt, add_special_tokens, want_pieces);
}

api::ApiResult<std::string> FleetBackend::detokenize(const std::vector<TokenId>& tokens) const {
  return engines_.front()->detokenize(tokens);
}

api::ApiResult<std::string> FleetBackend::render(const api::ChatPrompt& prompt) const {
  return engines_.front()->render(prompt);
}

// ---- what is put together

api::Health FleetBackend::health() const { return summed_health(engines_); }

void FleetBackend::list_requests() {
  {
    const std::lock_guard lock(outlet_mutex_);
    asking_.push_back({{}, engines_.size()});
  }
  for (const auto& engine : engines_) engine->list_requests();
}

void FleetBackend::list(std::size_t engine, std::vector<api::RequestStatus>&& requests) {
  const std::lock_guard lock(outlet_mutex_);
  PATERNOSTER_CHECK(answered_[engine] < asking_.size());
  for (api::RequestStatus& one : requests) one.engine = static_cast<std::int32_t>(engine);
  Asking& asking = asking_[answered_[engine]++];
  asking.answers.insert(asking.answers.end(), std::make_move_iterator(requests.begin()),
                        std::make_move_iterator(requests.end()));
  if (--asking.missing > 0) return;
  // Each engine answers in turn, so the first asked is the first complete.
  std::vector<api::RequestStatus> answers = std::move(asking_.front().answers);
  asking_.pop_front();
  for (std::size_t& count : answered_) --count;
  std::ranges::stable_sort(answers, std::greater(), &api::RequestStatus::age_ns);
  if (outlet_ != nullptr) outlet_->list(std::move(answers));
}

void FleetBackend::watch_live(bool on) {
  for (const auto& engine : engines_) engine->watch_live(on);
}

void FleetBackend::drain() {
  for (const auto& engine : engines_) engine->drain();
}

void FleetBackend::show(std::size_t engine, api::LiveFrame&& frame) {
  const std::lock_guard lock(outlet_mutex_);
  auto together = board_.take(engine, std::move(frame), now_ns());
  if (together && outlet_ != nullptr) outlet_->show(std::move(*together));
}

fleet::InstanceStats FleetBackend::stats(std::size_t engine) const {
  const std::lock_guard lock(fleet_mutex_);
  return fleet_.stats(fleet::InstanceId{static_cast<std::uint32_t>(engine)});
}

}  // namespace paternoster::engine
