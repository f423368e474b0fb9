#include "engine/engine_loop.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "cost/step_log.h"
#include "engine/request_list.h"

namespace paternoster::engine {

RefuseCall refusal_of(api::CallId call, api::ApiError&& error) {
  const bool too_long = error.code == "context_length_exceeded";
  return {call, std::move(error),
          too_long ? scheduler::Refusal::kPromptTooLong : scheduler::Refusal::kInvalid};
}

api::ApiError full_queue(const measure::ServingMetrics* metrics) {
  return api::queue_full(metrics != nullptr ? metrics->retry_after_ms() : 1000);
}

namespace {

Result<std::unique_ptr<std::ofstream>> open_file(const char* what, const std::filesystem::path& path) {
  if (path.empty()) return nullptr;
  auto file = std::make_unique<std::ofstream>(path, std::ios::binary | std::ios::trunc);
  if (!*file) return failure(ErrorCode::kNotFound, fmt::format("cannot write the {} to {}", what, path.string()));
  return file;
}

}  // namespace

Result<LoopFiles> open_files(const EngineOptions& options) {
  LoopFiles files;
  auto journal = open_file("journal", options.journal);
  if (!journal) return std::unexpected(journal.error());
  auto step_log = open_file("step log", options.step_log);
  if (!step_log) return std::unexpected(step_log.error());
  files.journal = std::move(*journal);
  files.step_log = std::move(*step_log);
  if (options.trace.empty()) return files;
  auto trace = TraceFile::create(options.trace);
  if (!trace) return std::unexpected(trace.error());
  files.trace = std::move(*trace);
  return files;
}

EngineLoop::EngineLoop(scheduler::Scheduler&& scheduler, NativeExecutor& executor,
                       const text::Tokenizer& tokenizer, const EngineOptions& options, LoopFiles&& files,
                       std::int32_t engine)
    : scheduler_(std::move(scheduler)),
      executor_(executor),
      calls_(tokenizer, executor),
      metrics_(options.metrics),
      engine_(engine),
      max_len_(scheduler_.config().limits.max_len),
      checks_(options.check_invariants),
      learns_cost_(options.learns_cost),
      files_(std::move(files)) {
  if (files_.journal) scheduler_.record_to(&journal_);
  if (metrics_ != nullptr) metrics_->declare_block_bytes(executor.bytes_a_block());
  if (files_.step_log) step_lines_ = std::string(cost::kStepLogHeader) + '\n';
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

std::optional<scheduler::CostModel> EngineLoop::learnt_cost() const {
  const std::lock_guard lock(cost_mutex_);
  return learnt_cost_;
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

// When an idle loop must plan again though no message came: at the time the plan says, or to look again
// whether somebody is stuck. Nothing if there is nobody.
std::optional<std::chrono::steady_clock::time_point> EngineLoop::wake_time() const {
  if (scheduler_.idle()) return std::nullopt;
  constexpr std::int64_t kMostNs = 1'000'000'000;
  const std::int64_t again_ns = scheduler_.last_plan().again_ns;
  const std::int64_t wake_ns = again_ns == 0 ? now_ns() + kMostNs : again_ns;
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(wake_ns));
}

void EngineLoop::handle(PreparedCall& call) {
  const std::int64_t now = now_ns();
  const api::Standing& standing = call.standing;
  scheduler::Request request;
  request.id = RequestId{call.call.value};
  request.prompt = call.numbers->prompt;
  request.prompt.insert(request.prompt.end(), call.numbers->said.begin(), call.numbers->said.end());
  request.max_tokens = call.most_tokens();
  request.choices = call.choices;
  request.cache_namespace = call.cache_namespace;
  request.reads_prefix_cache = !call.numbers->score_prompt;
  request.tenant = tenant_of(standing, now);
  request.priority = standing.priority;
  request.expected_tokens = std::clamp(standing.expected_tokens - call.said(), 0, request.max_tokens);
  request.deadline_ns = call.deadline_ns();
  const std::int32_t ahead = requests_ahead(calls_, scheduler_, standing.priority);
  const bool whole = call.slice_tokens == 0;  // who cuts a call into slices measures it as one
  if (metrics_ != nullptr && whole) metrics_->arrived(request, now, standing.tenant, standing.weight);
  if (checks_) ledger_.submitted(request.id);
  calls_.open(std::move(call));
  calls_.expect(request.id, ahead, wait_ns(scheduler_.stats(), ahead).value_or(-1));
  tell(scheduler_.submit(now, std::move(request)));
}

TenantId EngineLoop::tenant_of(const api::Standing& standing, std::int64_t now_ns) {
  const TenantBook::Entered tenant = tenants_.enter(standing.tenant, standing.weight);
  // A key's weights are small numbers; the scheduler's default is 10, so that there is room below it.
  constexpr std::int32_t kUnit = 10;
  if (tenant.weighs_anew) {
    const auto set = scheduler_.set_weight(now_ns, tenant.id, standing.weight * kUnit);
    if (!set) spdlog::error("{}", set.error().message);
  }
  return tenant.id;
}

// When somebody with so many before it will board. None: nothing has ended yet, so nobody knows.
std::optional<std::int64_t> EngineLoop::wait_ns(const scheduler::Stats& stats, std::int32_t ahead) const {
  if (ahead == 0 && stats.running < scheduler_.config().limits.max_seqs) return 0;
  return metrics_ == nullptr ? std::nullopt : metrics_->expected_wait_ns(ahead);
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

void EngineLoop::handle(StopCall& stop) {
  const RequestId request{stop.call.value};
  if (!scheduler_.live(request)) return;
  calls_.mark_stopped(request);
  tell(scheduler_.cancel(now_ns(), request));
}

void EngineLoop::handle(ListRequests& asked) {
  const scheduler::Stats stats = scheduler_.stats();
  auto list = list_requests(calls_, scheduler_, now_ns(),
                            [&](std::int32_t ahead) { return wait_ns(stats, ahead); });
  append_unread(list, std::move(asked.unread));
  const std::lock_guard lock(outlet_mutex_);
  if (outlet_ != nullptr) outlet_->list(std::move(list));
}

void EngineLoop::handle(DrainNow&) { scheduler_.drain(); }

api::ApiError EngineLoop::error_of(const scheduler::Event& event) const {
  const CallBook::Call* call = calls_.find(event.request);
  const std::int64_t prompt = call == nullptr ? 0 : call->usage.prompt_tokens;
  const std::int64_t wanted = call == nullptr ? 0 : call->prepared.max_tokens;
  switch (event.refusal) {
    case scheduler::Refusal::kQueueFull:
      return full_queue(metrics_);
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
      return api::deadline_hopeless();
    case scheduler::Refusal::kInvalid:
    case scheduler::Refusal::kNone:
      break;
  }
  return api::invalid_value("n", "the request asks for more choices than are served at once");
}

void EngineLoop::tell(std::span<const scheduler::Event> events) {
  if (metrics_ != nullptr) metrics_->take(events);
  if (checks_) ledger_.told(events);
  if (files_.trace) files_.trace->take(events, calls_);
  for (const scheduler::Event& event : events) {
    const bool last = event.kind == scheduler::EventKind::kRequestFinished ||
                      event.kind == scheduler::EventKind::kRefused;
    const CallBook::Call* call = last ? calls_.find(event.request) : nullptr;
    if (call == nullptr) continue;
    tenants_.leave(call->prepared.standing.tenant);
  }
  calls_.take(events);
  for (const scheduler::Event& event : events) {
    if (event.kind == scheduler::EventKind::kRefused) {
      calls_.refuse(api::CallId{event.request.value}, error_of(event));
    }
  }
}

bool EngineLoop::step() {
  const std::int64_t begin_ns = now_ns();
  if (scheduler_.idle()) {
    busy_since_ns_.store(-1, std::memory_order_relaxed);
  } else if (!busy_since_ns()) {
    busy_since_ns_.store(begin_ns, std::memory_order_relaxed);
  }
  const scheduler::Plan& plan = scheduler_.plan(begin_ns);
  if (checks_) ledger_.planned(scheduler_);
  if (plan.empty()) {  // nothing to carry out, but deadlines may have passed
    result_.outcomes.clear();
    tell(scheduler_.commit(now_ns(), result_));
    look_for_stuck(begin_ns);
    if (files_.trace) files_.trace->step(begin_ns, begin_ns, plan, scheduler_);
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
  if (files_.trace) files_.trace->step(begin_ns, end_ns, plan, scheduler_);
  calibrate(plan, end_ns - begin_ns, end_ns);
  last_step_ns_.store(end_ns, std::memory_order_relaxed);
  busy_since_ns_.store(end_ns, std::memory_order_relaxed);
  stuck_.stepped();
  publish(now_ns() - begin_ns, kernel_ns, &plan);
  log_step(begin_ns, end_ns - begin_ns, &plan);
  deliver(end_ns - begin_ns, &plan);
  return true;
}

void EngineLoop::calibrate(const scheduler::Plan& plan, std::int64_t step_ns, std::int64_t now_ns) {
  const bool read_here = StepCalibrator::is_read_by(scheduler_.config().choices);
  if (!read_here && !learns_cost_) return;
  const auto model = calibrator_.take(plan, step_ns, scheduler_.config().cost);
  if (!model) return;
  if (learns_cost_) {
    const std::lock_guard lock(cost_mutex_);
    learnt_cost_ = model;
  }
  if (!read_here) return;
  spdlog::debug("a step takes {} ns and {} ps a token, as measured", model->step_ns, model->token_ps);
  if (const auto set = scheduler_.calibrate(now_ns, *model); !set) spdlog::error("{}", set.error().message);
}

void EngineLoop::look_for_stuck(std::int64_t now_ns) {
  const auto name = [this](RequestId request) {
    const CallBook::Call* call = calls_.find(request);
    return call == nullptr ? std::string("?") : call->prepared.request_id;
  };
  if (const auto state = stuck_.nothing_ran(scheduler_, now_ns, name)) {
    spdlog::critical("somebody waits and nobody runs: {}", *state);
  }
}

void EngineLoop::publish(std::int64_t step_ns, std::int64_t kernel_ns, const scheduler::Plan* plan) {
  const scheduler::Stats stats = scheduler_.stats();
  running_.store(stats.running, std::memory_order_relaxed);
  waiting_.store(stats.waiting, std::memory_order_relaxed);
  queued_.store(stats.queued_requests, std::memory_order_relaxed);
  write_journal(plan == nullptr);
  if (files_.trace && plan == nullptr) files_.trace->flush();
  if (metrics_ != nullptr) measure_step(step_ns, kernel_ns, plan, stats);
}

void EngineLoop::write_journal(bool quiet) {
  if (!files_.journal) return;
  const std::vector<std::uint8_t> bytes = journal_.take();
  files_.journal->write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (quiet) files_.journal->flush();
}

void EngineLoop::measure_step(std::int64_t step_ns, std::int64_t kernel_ns, const scheduler::Plan* plan,
                              const scheduler::Stats& stats) {
  measure::StepFigures figures;
  figures.engine = engine_;
  figures.now_ns = now_ns();
  figures.step_ns = step_ns;
  figures.kernel_ns = kernel_ns;
  if (plan != nullptr) {
    figures.tokens = static_cast<std::int32_t>(plan->tokens.size());
    for (const scheduler::RunEntry& entry : plan->run) {
      const CallBook::Call* call = calls_.find(entry.request);
      const bool decodes = entry.samples && entry.known_count() == 1 &&
                           (call == nullptr || entry.first_position >= call->usage.prompt_tokens);
      if (!decodes) figures.prefill_tokens += static_cast<std::int32_t>(entry.token_count);
      figures.drafted_tokens += static_cast<std::int32_t>(entry.drafted);
    }
    figures.accepted_tokens = static_cast<std::int32_t>(stats.tokens_accepted - accepted_before_);
    accepted_before_ = stats.tokens_accepted;
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
  if (!files_.step_log) return;
  if (plan != nullptr) cost::append_step(step_lines_, {begin_ns, step_ns, cost::load_of(*plan)});
  if (plan != nullptr && step_lines_.size() < kBuffer) return;
  files_.step_log->write(step_lines_.data(), static_cast<std::streamsize>(step_lines_.size()));
  files_.step_log->flush();
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
