// Everything that is measured while serving, folded from the scheduler's events.
//
// One ServingMetrics a process, made by the command before the engine and given to both engine and
// server. `arrived`, `take` and `step` are called by engines' threads alone: they remember each
// request's times, under a lock that only several engines in one process ever wait for, and request ids
// must differ between these. All else may be read or counted from any thread. Nothing here allocates
// once a request is known.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "measure/group_cells.h"
#include "measure/metrics.h"
#include "scheduler/event.h"
#include "scheduler/plan.h"
#include "scheduler/request.h"

namespace paternoster::measure {

// How things stand after a step.
struct StepFigures {
  std::int32_t engine = 0;        // whose step it was, of those declared
  std::int64_t now_ns = 0;
  std::int64_t step_ns = 0;       // plan to commit; 0: there was no step
  std::int64_t kernel_ns = 0;     // of it, in the model's kernels
  std::int32_t tokens = 0;        // computed in it
  std::int32_t prefill_tokens = 0;  // of these, of prompts
  std::int32_t drafted_tokens = 0;  // of these, guesses (speculation)
  std::int32_t accepted_tokens = 0;  // guesses that were right
  std::int32_t running = 0;       // sequences with a seat
  std::int32_t waiting = 0;
  std::array<std::int32_t, scheduler::kWaitReasons> waiting_by_reason{};
  std::int32_t kv_used = 0;       // blocks
  std::int32_t kv_cached = 0;
  std::int32_t kv_free = 0;
};

// Where a request was when its timeout passed.
enum class Stage : std::uint8_t { kQueue, kPrefill, kDecode };
inline constexpr std::size_t kStages = 3;
const char* to_string(Stage stage);

// Three classes by priority: below 0 is urgent, above 0 can wait. The words are OpenAI's service tiers.
inline constexpr std::size_t kClasses = 3;
std::size_t class_index(std::int32_t priority);
const char* class_name(std::size_t index);

class ServingMetrics {
 public:
  explicit ServingMetrics(const std::string& model_name);
  ~ServingMetrics();

  // From now on tenants have their own histograms, by name: at most kMostTenants, the others together as
  // "other". Before the first request.
  void label_tenants() { labels_tenants_ = true; }

  // Before submit: what the scheduler's events do not say. An empty tenant is nobody in particular.
  void arrived(const scheduler::Request& request, std::int64_t now_ns, const std::string& tenant = "",
               std::int32_t weight = 1);
  // The events of one verb, as they come.
  void take(std::span<const scheduler::Event> events);
  void step(const StepFigures& figures);
  // So many wait in front of all engines, beside those that wait in one (several engines that are given
  // slices).
  void pool(std::int32_t waiting);
  // Once, before any step: so many engines in this process, whose figures are summed and told apart.
  void declare_engines(std::int32_t engines);
  // Once, when the KV cache's size is known.
  void declare_cache(std::int32_t block_tokens, std::int32_t blocks);
  // Once, before the first request: what a block that is swapped counts for.
  void declare_block_bytes(std::uint64_t bytes);
  // A refusal that the scheduler never saw (a template's, an unknown token, ...). Any thread.
  void rejected(scheduler::Refusal refusal);

  // When a client that finds the queue full should come again, from the rate at which requests have
  // lately ended and those that wait now: 1,000..60,000.
  std::int64_t retry_after_ms() const;
  // How long one with so many requests before it will wait for a seat; none if nothing has ended yet.
  std::optional<std::int64_t> expected_wait_ns(std::int32_t ahead) const;

  Registry& registry() { return registry_; }
  std::string render() const { return registry_.render(); }

 private:
  struct Families;
  struct Life;
  struct Groups;

  void take(const scheduler::Event& event);
  void observe(const Life& life, Latency latency, double value);
  void look_at_fairness(std::int64_t now_ns);
  void show_sums();
  void serve(const Life& life, double tokens, std::int64_t now_ns);
  void admit(const scheduler::Event& event, Life& life);
  void count_token(const scheduler::Event& event, Life& life);
  void count_preemption(const scheduler::Event& event, Life& life);
  void count_swapped(std::size_t direction, std::int32_t blocks, Life& life);
  void finish_sequence(const scheduler::Event& event, Life& life);
  void finish_request(const scheduler::Event& event, const Life& life);

  Registry registry_;
  std::unique_ptr<Families> families_;
  std::unique_ptr<Groups> groups_;  // by class and by tenant
  bool labels_tenants_ = false;
  std::mutex mutex_;  // guards what follows, but for the atomic, and groups_
  std::uint64_t block_bytes_ = 0;
  std::vector<StepFigures> latest_;  // of each engine
  std::int32_t pool_ = 0;
  struct EngineGauges {
    Gauge* running;
    Gauge* waiting;
    Gauge* kv_used;
  };
  std::vector<EngineGauges> engines_;  // empty for one engine: the sums say it all
  std::unordered_map<RequestId, Life> lives_;
  std::atomic<double> seconds_per_end_{0};  // lately; 0: none has ended yet
  std::int64_t last_end_ns_ = 0;
};

}  // namespace paternoster::measure
