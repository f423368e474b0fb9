#include "measure/serving.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <vector>

#include "measure/serving_families.h"
#include "measure/tenant_service.h"

namespace paternoster::measure {

using scheduler::Event;
using scheduler::EventKind;

// What must be remembered of a request until it ends. Times of 0: not yet.
struct ServingMetrics::Life {
  struct Sequence {
    std::int64_t first_token_ns = 0;
    std::int64_t last_token_ns = 0;
    std::int32_t tokens = 0;
  };
  std::int64_t arrived_ns = 0;
  std::int64_t seated_ns = 0;
  std::int64_t first_token_ns = 0;
  std::int64_t last_token_ns = 0;
  std::int32_t prompt_tokens = 0;
  std::int32_t output_tokens = 0;
  std::int32_t preemptions = 0;
  std::int64_t recomputed_tokens = 0;
  std::uint64_t swapped_bytes = 0;
  std::int32_t cached_tokens = 0;
  std::size_t group = 1;         // class
  GroupCells* tenant = nullptr;  // its own cells, with label_tenants
  std::string tenant_name;
  scheduler::FinishReason finish = scheduler::FinishReason::kNone;
  std::vector<Sequence> sequences;  // by choice
};

// Who is served together: everybody, classes, tenants.
struct ServingMetrics::Groups {
  static constexpr std::size_t kMostTenants = 64;

  explicit Groups(Registry& registry) : all(registry) {
    for (std::size_t i = 0; i < kClasses; ++i) classes.emplace_back(registry, "paternoster_", "class", class_name(i));
  }

  // Cells for this tenant; those of "other" when there are too many.
  GroupCells& of_tenant(Registry& registry, const std::string& name) {
    const std::string shown = tenants.contains(name) || tenants.size() < kMostTenants ? name : "other";
    auto& cells = tenants[shown];
    if (!cells) cells = std::make_unique<GroupCells>(registry, "paternoster_tenant_", "tenant", shown);
    return *cells;
  }

  GroupCells all;
  std::deque<GroupCells> classes;
  std::unordered_map<std::string, std::unique_ptr<GroupCells>> tenants;
  TenantService service;
  std::int64_t looked_ns = 0;  // when the gauges of fairness were set
};

const char* to_string(Stage stage) {
  switch (stage) {
    case Stage::kQueue: return "queue";
    case Stage::kPrefill: return "prefill";
    case Stage::kDecode: return "decode";
  }
  return "queue";
}

std::size_t class_index(std::int32_t priority) { return priority < 0 ? 0 : priority == 0 ? 1 : 2; }

const char* class_name(std::size_t index) {
  constexpr std::array<const char*, kClasses> kNames = {"priority", "default", "flex"};
  return kNames[index];
}

namespace {

constexpr double kOutputCharge = 2;  // against 1 of a prompt token that is computed
constexpr std::int64_t kLookNs = 1'000'000'000;
constexpr double kSmoothing = 0.2;
constexpr std::int64_t kLeastRetryMs = 1'000;
constexpr std::int64_t kMostRetryMs = 60'000;

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

std::size_t finished_index(scheduler::FinishReason reason) {
  switch (reason) {
    case scheduler::FinishReason::kStop: return 0;
    case scheduler::FinishReason::kLength: return 1;
    default: return 2;
  }
}

}  // namespace

ServingMetrics::ServingMetrics(const std::string& model_name)
    : registry_({{"model", model_name}}, {{"model_name", model_name}, {"engine", "0"}}),
      families_(std::make_unique<Families>(registry_)),
      groups_(std::make_unique<Groups>(registry_)),
      latest_(1) {}

ServingMetrics::~ServingMetrics() = default;

void ServingMetrics::declare_engines(std::int32_t engines) {
  latest_.resize(static_cast<std::size_t>(std::max(1, engines)));
  if (engines < 2) return;
  for (std::int32_t engine = 0; engine < engines; ++engine) {
    const Labels labels = {{"engine", std::to_string(engine)}};
    engines_.push_back(
        {&registry_.gauge("paternoster_engine_requests_running", "Sequences with a seat, by engine.", labels),
         &registry_.gauge("paternoster_engine_requests_waiting", "Sequences that wait, by engine.", labels),
         &registry_.gauge("paternoster_engine_kv_used_blocks", "Blocks in use, by engine.", labels)});
  }
}

void ServingMetrics::declare_cache(std::int32_t block_tokens, std::int32_t blocks) {
  registry_
      .gauge("", "How the KV cache is made.", {}, "vllm:cache_config_info",
             {{"block_size", std::to_string(block_tokens)}, {"num_gpu_blocks", std::to_string(blocks)}})
      .set(1);
}

void ServingMetrics::declare_block_bytes(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  block_bytes_ = bytes;
}

void ServingMetrics::arrived(const scheduler::Request& request, std::int64_t now_ns, const std::string& tenant,
                             std::int32_t weight) {
  const std::lock_guard lock(mutex_);
  Life& life = lives_[request.id];
  life.arrived_ns = now_ns;
  life.prompt_tokens = static_cast<std::int32_t>(request.prompt.size());
  life.sequences.resize(static_cast<std::size_t>(std::max(1, request.choices)));
  life.group = class_index(request.priority);
  life.tenant_name = tenant;
  if (tenant.empty()) return;
  groups_->service.arrived(tenant, weight, now_ns);
  if (labels_tenants_) life.tenant = &groups_->of_tenant(registry_, tenant);
}

void ServingMetrics::observe(const Life& life, Latency latency, double value) {
  groups_->all.of(latency).observe(value);
  groups_->classes[life.group].of(latency).observe(value);
  if (life.tenant != nullptr) life.tenant->of(latency).observe(value);
}

void ServingMetrics::serve(const Life& life, double tokens, std::int64_t now_ns) {
  if (!life.tenant_name.empty()) groups_->service.served(life.tenant_name, tokens, now_ns);
}

void ServingMetrics::take(std::span<const Event> events) {
  const std::lock_guard lock(mutex_);
  for (const Event& event : events) take(event);
}

void ServingMetrics::take(const Event& event) {
  const auto found = lives_.find(event.request);
  if (found == lives_.end()) return;
  Life& life = found->second;
  switch (event.kind) {
    case EventKind::kAccepted: return;
    case EventKind::kRefused:
      rejected(event.refusal);
      if (event.refusal == scheduler::Refusal::kDeadlineHopeless) families_->deadlines[life.group][0]->add();
      lives_.erase(found);
      return;
    case EventKind::kAdmitted: return admit(event, life);
    case EventKind::kPreempted: return count_preemption(event, life);
    case EventKind::kToken: return count_token(event, life);
    case EventKind::kFinished: return finish_sequence(event, life);
    case EventKind::kRequestFinished:
      finish_request(event, life);
      lives_.erase(found);
      return;
  }
}

void ServingMetrics::count_preemption(const Event& event, Life& life) {
  enum Kind : std::size_t { kRecompute, kSwap, kSlice };
  const bool slice = event.cause == scheduler::PreemptCause::kSlice;
  families_->preemptions_by_kind[slice ? kSlice : event.swapped_blocks > 0 ? kSwap : kRecompute]->add();
  count_swapped(0, event.swapped_blocks, life);
  if (slice) return;
  families_->preemptions.add();
  ++life.preemptions;
}

void ServingMetrics::count_swapped(std::size_t direction, std::int32_t blocks, Life& life) {
  const std::uint64_t bytes = block_bytes_ * static_cast<std::uint64_t>(blocks);
  families_->swapped_bytes[direction]->add(bytes);
  life.swapped_bytes += bytes;
}

void ServingMetrics::admit(const Event& event, Life& life) {
  count_swapped(1, event.swapped_blocks, life);
  if (life.seated_ns == 0) {
    life.seated_ns = event.at_ns;
    observe(life, Latency::kQueue, seconds(event.at_ns - life.arrived_ns));
  }
  // Computing again what was preempted is no new prompt, nor is sharing a sibling's.
  if (event.resumed || event.forked) return;
  const auto prompt = static_cast<std::uint64_t>(life.prompt_tokens);
  const auto cached = std::min(prompt, static_cast<std::uint64_t>(std::max(0, event.count)));
  life.cached_tokens = static_cast<std::int32_t>(cached);
  serve(life, static_cast<double>(prompt - cached), event.at_ns);
  families_->prefix_queries.add(prompt);
  families_->prefix_hits.add(cached);
  families_->prefix_misses.add(prompt - cached);
  families_->prompt_total.add(prompt);
  families_->prompt_cached.add(cached);
  families_->prompt_computed.add(prompt - cached);
}

void ServingMetrics::count_token(const Event& event, Life& life) {
  families_->generated.add();
  ++life.output_tokens;
  life.last_token_ns = event.at_ns;
  serve(life, kOutputCharge, event.at_ns);
  if (life.first_token_ns == 0) {
    life.first_token_ns = event.at_ns;
    observe(life, Latency::kTtft, seconds(event.at_ns - life.arrived_ns));
    families_->prefill.observe(seconds(event.at_ns - life.seated_ns));
  }
  const auto choice = static_cast<std::size_t>(event.choice);
  if (choice >= life.sequences.size()) return;
  Life::Sequence& sequence = life.sequences[choice];
  if (sequence.tokens++ == 0) {
    sequence.first_token_ns = event.at_ns;
  } else {
    observe(life, Latency::kItl, seconds(event.at_ns - sequence.last_token_ns));
  }
  sequence.last_token_ns = event.at_ns;
}

void ServingMetrics::finish_sequence(const Event& event, Life& life) {
  if (life.finish != scheduler::FinishReason::kDeadline) life.finish = event.finish;
  families_->recomputed.add(static_cast<std::uint64_t>(event.recomputed_tokens));
  life.recomputed_tokens += event.recomputed_tokens;
  const auto choice = static_cast<std::size_t>(event.choice);
  if (choice >= life.sequences.size()) return;
  const Life::Sequence& sequence = life.sequences[choice];
  if (sequence.tokens < 2) return;
  observe(life, Latency::kTpot,
          seconds(sequence.last_token_ns - sequence.first_token_ns) / (sequence.tokens - 1));
}

void ServingMetrics::finish_request(const Event& event, const Life& life) {
  families_->finished[finished_index(life.finish)]->add();
  if (life.finish == scheduler::FinishReason::kDeadline) {
    const Stage stage = life.seated_ns == 0        ? Stage::kQueue
                        : life.first_token_ns == 0 ? Stage::kPrefill
                                                   : Stage::kDecode;
    families_->deadlines[life.group][static_cast<std::size_t>(stage)]->add();
  }
  families_->request_preemptions.observe(life.preemptions);
  families_->request_recomputed.observe(static_cast<double>(life.recomputed_tokens));
  families_->request_swapped.observe(static_cast<double>(life.swapped_bytes));
  families_->prompt_tokens.observe(life.prompt_tokens);
  families_->output_tokens.observe(life.output_tokens);
  const double service = life.prompt_tokens - life.cached_tokens + kOutputCharge * life.output_tokens;
  groups_->classes[life.group].service->observe(service);
  if (life.tenant != nullptr) life.tenant->service->observe(service);
  const bool whole = life.finish == scheduler::FinishReason::kStop || life.finish == scheduler::FinishReason::kLength;
  if (whole) {
    observe(life, Latency::kE2e, seconds(event.at_ns - life.arrived_ns));
    if (life.first_token_ns != 0) {
      families_->decode.observe(seconds(life.last_token_ns - life.first_token_ns));
    }
  }
  // Idle times do not count: at most the time this request was there.
  const double interval = seconds(event.at_ns - std::max(last_end_ns_, life.arrived_ns));
  const double old = seconds_per_end_.load(std::memory_order_relaxed);
  seconds_per_end_.store(old == 0 ? interval : old + kSmoothing * (interval - old),
                         std::memory_order_relaxed);
  last_end_ns_ = event.at_ns;
}

void ServingMetrics::step(const StepFigures& figures) {
  const std::lock_guard lock(mutex_);
  Families& families = *families_;
  look_at_fairness(figures.now_ns);
  const auto engine = static_cast<std::size_t>(figures.engine);
  latest_.at(engine) = figures;
  if (!engines_.empty()) {
    engines_[engine].running->set(figures.running);
    engines_[engine].waiting->set(figures.waiting);
    engines_[engine].kv_used->set(figures.kv_used);
  }
  show_sums();
  if (figures.step_ns == 0) return;
  families.drafted.add(static_cast<std::uint64_t>(figures.drafted_tokens));
  families.accepted.add(static_cast<std::uint64_t>(figures.accepted_tokens));
  families.steps.add();
  families.step_ns.add(static_cast<std::uint64_t>(figures.step_ns));
  families.kernel_ns.add(static_cast<std::uint64_t>(figures.kernel_ns));
  families.step_tokens.observe(figures.tokens);
  families.step_seconds.observe(seconds(figures.step_ns));
}

void ServingMetrics::pool(std::int32_t waiting) {
  const std::lock_guard lock(mutex_);
  pool_ = waiting;
  show_sums();
}

// How things stand, all engines together.
void ServingMetrics::show_sums() {
  StepFigures sum;
  for (const StepFigures& one : latest_) {
    sum.running += one.running;
    sum.waiting += one.waiting;
    for (std::size_t i = 0; i < sum.waiting_by_reason.size(); ++i) {
      sum.waiting_by_reason[i] += one.waiting_by_reason[i];
    }
    sum.kv_used += one.kv_used;
    sum.kv_cached += one.kv_cached;
    sum.kv_free += one.kv_free;
  }
  Families& families = *families_;
  families.running.set(sum.running);
  families.waiting.set(sum.waiting + pool_);
  for (std::size_t i = 0; i < families.waiting_by_reason.size(); ++i) {
    families.waiting_by_reason[i]->set(sum.waiting_by_reason[i]);
  }
  families.kv_blocks[0]->set(sum.kv_used);
  families.kv_blocks[1]->set(sum.kv_cached);
  families.kv_blocks[2]->set(sum.kv_free);
  const double total = sum.kv_used + sum.kv_cached + sum.kv_free;
  families.kv_usage.set(total > 0 ? sum.kv_used / total : 0);
}

void ServingMetrics::look_at_fairness(std::int64_t now_ns) {
  if (now_ns - groups_->looked_ns < kLookNs) return;
  groups_->looked_ns = now_ns;
  const TenantService::Evenness evenness = groups_->service.evenness(now_ns);
  families_->jain.set(evenness.jain);
  families_->service_gap.set(evenness.largest_gap);
}

void ServingMetrics::rejected(scheduler::Refusal refusal) {
  if (Counter* counter = families_->refused[static_cast<std::size_t>(refusal)]) counter->add();
}

std::optional<std::int64_t> ServingMetrics::expected_wait_ns(std::int32_t ahead) const {
  const double each = seconds_per_end_.load(std::memory_order_relaxed);
  if (each == 0) return std::nullopt;
  return static_cast<std::int64_t>((ahead + 1) * each * 1e9);
}

std::int64_t ServingMetrics::retry_after_ms() const {
  const double ahead = families_->waiting.value() + 1;
  const double wait_ms = ahead * seconds_per_end_.load(std::memory_order_relaxed) * 1000;
  return std::clamp(static_cast<std::int64_t>(std::ceil(wait_ms)), kLeastRetryMs, kMostRetryMs);
}

}  // namespace paternoster::measure
