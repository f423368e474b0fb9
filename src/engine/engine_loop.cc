#include "engine/engine_loop.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "cost/step_log.h"

namespace paternoster::engine {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

EngineLoop::EngineLoop(scheduler::Scheduler&& scheduler, NativeExecutor& executor,
                       const text::Tokenizer& tokenizer, const EngineOptions& options)
    : scheduler_(std::move(scheduler)),
      executor_(executor),
      calls_(tokenizer, executor),
      metrics_(options.metrics),
      max_len_(scheduler_.config().limits.max_len),
      checks_(options.check_invariants) {
  if (!options.journal.empty()) {
    journal_file_.open(options.journal, std::ios::binary | std::ios::trunc);
    scheduler_.record_to(&journal_);
  }
  if (!options.step_log.empty()) {
    step_log_.open(options.step_log, std::ios::binary | std::ios::trunc);
    step_lines_ = std::string(cost::kStepLogHeader) + '\n';
  }
  thread_ = std::thread([this] { run(); });
}

EngineLoop::~EngineLoop() {
  inbox_.close();
  thread_.join();
}

void EngineLoop::attach(api::Outlet* outlet) {
  const std::lock_guard lock(outlet_mutex_);
  outlet_ = outlet;
}

void EngineLoop::watch(bool on) {
  watching_.store(on, std::memory_order_relaxed);
  if (on) send(LookAgain{});
}

void EngineLoop::run() {
  std::vector<LoopMessage> messages;
  bool worked = false;
  while (inbox_.take(messages, !worked, wake_time())) {
    for (LoopMessage& message : messages) {
      std::visit([this](auto& one) { handle(one); }, message);
    }
    worked = step();
  }
}

// When an idle loop must plan again though no message came; nothing if it need not.
std::optional<std::chrono::steady_clock::time_point> EngineLoop::wake_time() const {
  const std::int64_t again_ns = scheduler_.last_plan().again_ns;
  if (again_ns == 0) return std::nullopt;
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(again_ns));
}

void EngineLoop::handle(PreparedCall& call) {
  const std::int64_t now = now_ns();
  scheduler::Request request;
  request.id = RequestId{call.call.value};
  request.prompt = call.numbers->prompt;
  request.max_tokens = call.max_tokens;
  request.choices = call.choices;
  request.cache_namespace = call.cache_namespace;
  request.reads_prefix_cache = !call.numbers->score_prompt;
  if (metrics_ != nullptr) metrics_->arrived(request, now);
  if (checks_) ledger_.submitted(request.id);
  calls_.open(std::move(call));
  tell(scheduler_.submit(now, std::move(request)));
}

void EngineLoop::handle(RefuseCall& refusal) {
  if (metrics_ != nullptr) metrics_->rejected(refusal.refusal);
  calls_.refuse(refusal.call, std::move(refusal.error));
}

void EngineLoop::handle(CancelCall& cancel) {
  const RequestId request{cancel.call.value};
  if (scheduler_.live(request)) tell(scheduler_.cancel(now_ns(), request));
  calls_.forget(request);
}

void EngineLoop::handle(DrainNow&) { scheduler_.drain(); }

api::ApiError EngineLoop::error_of(const scheduler::Event& event) const {
  const CallBook::Call* call = calls_.find(event.request);
  const std::int64_t prompt = call == nullptr ? 0 : call->usage.prompt_tokens;
  const std::int64_t wanted = call == nullptr ? 0 : call->prepared.max_tokens;
  switch (event.refusal) {
    case scheduler::Refusal::kQueueFull:
      return api::queue_full(metrics_ != nullptr ? metrics_->retry_after_ms() : 1000);
    case scheduler::Refusal::kDraining:
      return api::draining();
    case scheduler::Refusal::kPromptTooLong:
      return api::context_length_exceeded(prompt, wanted, max_len_);
    case scheduler::Refusal::kNeverFits: {
      const scheduler::Limits& limits = scheduler_.config().limits;
      return api::context_length_exceeded(prompt, wanted,
                                          std::int64_t{limits.num_blocks} * limits.block_size);
    }
    case scheduler::Refusal::kDeadlineHopeless:
      return api::other_error(408, "timeout_error", "deadline_exceeded",
                              "the deadline cannot be met: it has passed, or is too near for this request");
    case scheduler::Refusal::kInvalid:
    case scheduler::Refusal::kNone:
      break;
  }
  return api::invalid_value("n", "the request asks for more choices than are served at once");
}

void EngineLoop::tell(std::span<const scheduler::Event> events) {
  if (metrics_ != nullptr) metrics_->take(events);
  if (checks_) ledger_.told(events);
  calls_.take(events);
  for (const scheduler::Event& event : events) {
    if (event.kind == scheduler::EventKind::kRefused) {
      calls_.refuse(api::CallId{event.request.value}, error_of(event));
    }
  }
}

bool EngineLoop::step() {
  const std::int64_t begin_ns = now_ns();
  const scheduler::Plan& plan = scheduler_.plan(begin_ns);
  if (checks_) ledger_.planned(scheduler_);
  if (plan.empty()) {  // nothing to carry out, but deadlines may have passed
    result_.outcomes.clear();
    tell(scheduler_.commit(now_ns(), result_));
    publish(0, 0, nullptr);
    log_step(0, 0, nullptr);
    deliver(0, nullptr);
    return false;
  }
  const std::int64_t planned_ns = now_ns();
  executor_.execute(plan, result_);
  const std::int64_t kernel_ns = now_ns() - planned_ns;
  calls_.read_step(result_, executor_.drawn());
  const std::int64_t end_ns = now_ns();
  tell(scheduler_.commit(end_ns, result_));
  if (checks_) check_invariants();
  last_step_ns_.store(end_ns, std::memory_order_relaxed);
  publish(now_ns() - begin_ns, kernel_ns, &plan);
  log_step(begin_ns, end_ns - begin_ns, &plan);
  deliver(end_ns - begin_ns, &plan);
  return true;
}

void EngineLoop::publish(std::int64_t step_ns, std::int64_t kernel_ns, const scheduler::Plan* plan) {
  const scheduler::Stats stats = scheduler_.stats();
  running_.store(stats.running, std::memory_order_relaxed);
  waiting_.store(stats.waiting, std::memory_order_relaxed);
  queued_.store(stats.queued_requests, std::memory_order_relaxed);
  if (journal_file_.is_open()) {
    const std::vector<std::uint8_t> bytes = journal_.take();
    journal_file_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (plan == nullptr) journal_file_.flush();
  }
  if (metrics_ == nullptr) return;
  measure::StepFigures figures;
  figures.step_ns = step_ns;
  figures.kernel_ns = kernel_ns;
  if (plan != nullptr) {
    figures.tokens = static_cast<std::int32_t>(plan->tokens.size());
    for (const scheduler::RunEntry& entry : plan->run) {
      const CallBook::Call* call = calls_.find(entry.request);
      const bool decodes = entry.samples && entry.token_count == 1 &&
                           (call == nullptr || entry.first_position >= call->usage.prompt_tokens);
      if (!decodes) figures.prefill_tokens += static_cast<std::int32_t>(entry.token_count);
    }
  }
  figures.running = stats.running;
  figures.waiting = stats.waiting;
  std::copy(std::begin(stats.waiting_by_reason), std::end(stats.waiting_by_reason),
            figures.waiting_by_reason.begin());
  figures.kv_used = stats.blocks_used;
  figures.kv_cached = stats.blocks_cached;
  figures.kv_free = stats.blocks_free;
  metrics_->step(figures);
}

// Written when there is much of it, or time: there is no plan.
void EngineLoop::log_step(std::int64_t begin_ns, std::int64_t step_ns, const scheduler::Plan* plan) {
  constexpr std::size_t kBuffer = std::size_t{1} << 16;
  if (!step_log_.is_open()) return;
  if (plan != nullptr) cost::append_step(step_lines_, {begin_ns, step_ns, cost::load_of(*plan)});
  if (plan != nullptr && step_lines_.size() < kBuffer) return;
  step_log_.write(step_lines_.data(), static_cast<std::streamsize>(step_lines_.size()));
  step_log_.flush();
  step_lines_.clear();
}

void EngineLoop::deliver(std::int64_t step_ns, const scheduler::Plan* plan) {
  std::vector<api::BackendEvent> events = calls_.take_outbox();
  const std::lock_guard lock(outlet_mutex_);
  if (outlet_ == nullptr) return;
  if (!events.empty()) outlet_->deliver(std::move(events));
  if (!watching_.load(std::memory_order_relaxed)) return;
  const std::int64_t now = now_ns();
  // The last frame before everything is quiet must not be lost: it shows empty seats.
  if (!frame_wanted_ && !scheduler_.idle() && !live_.due(now)) return;
  frame_wanted_ = false;
  outlet_->show(live_.make(now, step_ns, plan, scheduler_, calls_));
}

void EngineLoop::check_invariants() {
  auto violation = scheduler::check(scheduler_);
  if (!violation) violation = ledger_.check(scheduler_);
  if (!violation) return;
  spdlog::critical("scheduler invariant {} is broken: {}", violation->number, violation->what);
  std::abort();
}

}  // namespace paternoster::engine
