// What the native engine can be told, and the one way to make it: for the commands serve, chat, run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "api/backend.h"
#include "base/result.h"
#include "fleet/choices.h"
#include "kernels/kv_type.h"
#include "measure/serving.h"
#include "scheduler/choice_names.h"
#include "scheduler/choices.h"
#include "scheduler/presets.h"

namespace paternoster::engine {

struct EngineOptions {
  std::filesystem::path model;            // a file: names are resolved by model/model_path.h
  std::string model_id;                   // the name clients use; empty: the file's own name
  std::int32_t max_seqs = 32;
  std::optional<std::int32_t> max_len;    // none: what the model was trained for, or what fits
  std::optional<std::int64_t> kv_tokens;  // at most one of these two
  std::optional<std::uint64_t> kv_memory_bytes;
  kernels::KvType kv_type = kernels::KvType::kF16;
  std::int32_t step_tokens = 512;
  std::int32_t max_queue = 256;
  std::int32_t threads = 0;               // 0: what affinity and cgroup quota allow
  // Engines in this process: threads, seats, queue and KV cache are shared out evenly between them, the
  // weights are common. Where calls, or slices of tuning.slice_tokens of them, go is decided by a row of
  // fleet/presets.h; empty: the one that goes with `preset`.
  std::int32_t instances = 1;
  std::string fleet;
  std::optional<fleet::Placement> placement;       // over that row's
  std::int64_t fleet_interval_ns = 100'000'000;    // between two looks at the pool, at least
  bool learns_cost = false;               // what a step costs is measured for whoever asks (slice_engine.h)
  std::string preset{scheduler::kDefaultPreset};
  scheduler::ChoiceNames choices;         // single choices over the preset's
  scheduler::Tuning tuning{};
  std::uint64_t swap_bytes = 0;           // room for the KV of those who lost their seat,
  std::filesystem::path swap_file;        // in this file; empty: in memory
  bool prefix_cache = true;
  bool share_prefixes = false;            // between different API keys too
  std::optional<std::string> chat_template;  // Jinja source, instead of the file's own
  std::filesystem::path journal;          // every decision is written here; empty: nowhere
  std::filesystem::path step_log;         // every step's load and time (cost/step_log.h); empty: nowhere
  std::filesystem::path trace;            // a Chrome trace of steps and sequences; empty: none
  std::int64_t stall_ns = 60'000'000'000;  // not ready when there is work and no step ended for so long
  bool check_invariants = false;          // after every step; aborts on the first that is broken
  measure::ServingMetrics* metrics = nullptr;  // must outlive the backend
};

// Loads the model, sizes the cache and starts the engine's threads; logs (spdlog) what it decided and
// why. Ready to answer when it returns. Errors are one line for a person.
Result<std::unique_ptr<api::Backend>> create_native_backend(EngineOptions options);

}  // namespace paternoster::engine
